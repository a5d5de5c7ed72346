"""The address of the calendar file."""

from django.urls import path

from orders.calendar.feed import calendar_file

urlpatterns = [path("calendar.ics", calendar_file, name="calendar_file")]
