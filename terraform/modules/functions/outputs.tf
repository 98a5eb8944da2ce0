output "images" {
  description = "Images of the functions whose image is shared, as they run now."
  value       = { for name, service in data.google_cloud_run_v2_service.shared : name => service.template[0].containers[0].image }
}

output "source_names" {
  description = "Names of the archives' objects, which contain checksums, by function."
  value       = { for name, object in google_storage_bucket_object.source : name => object.name }
}

output "subscription_names" {
  description = "Subscription names by function."
  value       = { for name, subscription in google_pubsub_subscription.this : name => subscription.name }
}

output "urls" {
  description = "Function URLs; available once the invokers have permission."
  value       = { for name, function in google_cloudfunctions2_function.this : name => function.service_config[0].uri }
  depends_on  = [google_cloud_run_service_iam_binding.invokers]
}
