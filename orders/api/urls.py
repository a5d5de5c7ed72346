"""The addresses of the orders in the API."""

from django.urls import path

from orders.api import views
from orders.api.file_content import FileContent

urlpatterns = [
    path("properties/<str:reference>/orders", views.PropertyOrders.as_view()),
    path("properties/<str:reference>/materials", views.PropertyMaterials.as_view()),
    path("properties/<str:reference>/placements", views.Placements.as_view()),
    path("placements/<int:placement_id>", views.OnePlacement.as_view(), name="api_placement"),
    path("files/<int:file_id>", FileContent.as_view(), name="api_file"),
    path("orders", views.OrderList.as_view()),
    path("orders/<str:order_id>", views.OneOrder.as_view()),
    path("orders/<str:order_id>/materials", views.OrderMaterials.as_view()),
    path("orders/<str:order_id>/reschedule", views.Reschedule.as_view()),
    path("orders/<str:order_id>/cancel", views.Cancel.as_view()),
]
