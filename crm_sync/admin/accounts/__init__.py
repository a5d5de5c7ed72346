"""Who may log in: users, groups, second factors, failed logins."""
