# Variables of earlier versions whose silent loss would be harmful: Terraform only warns of a value for an unknown variable,
# so these fail the plan and name what to use instead. Each has type = any, default = null, and one validation:
# condition = var.NAME == null.
