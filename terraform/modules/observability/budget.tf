# A budget only sends notifications; it stops nothing. docs/adr/0007 describes what stops VMs.
resource "google_billing_budget" "this" {
  count           = var.budget == null ? 0 : 1
  billing_account = var.budget.billing_account
  display_name    = "Dropforge in ${var.project_id}"

  budget_filter {
    projects = ["projects/${var.project_number}"]
  }

  amount {
    specified_amount {
      currency_code = var.budget.currency_code
      units         = tostring(floor(var.budget.amount))
    }
  }

  dynamic "threshold_rules" {
    for_each = [0.5, 0.9, 1.0]
    content {
      threshold_percent = threshold_rules.value
    }
  }

  # The forecast notifies in time: GPU VMs can spend a budget of weeks within hours.
  threshold_rules {
    threshold_percent = 1.0
    spend_basis       = "FORECASTED_SPEND"
  }

  dynamic "all_updates_rule" {
    for_each = length(var.alerts.emails) + length(var.alerts.notification_channels) > 0 ? [true] : []
    content {
      # A budget accepts at most five channels.
      monitoring_notification_channels = slice(local.channels, 0, min(5, length(local.channels)))
    }
  }
}
