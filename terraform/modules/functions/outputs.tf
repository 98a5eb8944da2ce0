output "subscription_names" {
  description = "Subscription names by function."
  value       = { for name, subscription in google_pubsub_subscription.this : name => subscription.name }
}

output "urls" {
  description = "Function URLs; available once the invokers have permission."
  value       = { for name, function in google_cloudfunctions2_function.this : name => function.service_config[0].uri }
  depends_on  = [google_cloud_run_service_iam_binding.invokers]
}
