output "subscription_names" {
  description = "The subscriptions by the function that hears them."
  value       = { for name, subscription in google_pubsub_subscription.this : name => subscription.name }
}

output "urls" {
  description = "The functions' addresses, once those who may call them can."
  value       = { for name, function in google_cloudfunctions2_function.this : name => function.service_config[0].uri }
  depends_on  = [google_cloud_run_service_iam_binding.invokers]
}
