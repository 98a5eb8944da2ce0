output "service_agent" {
  description = "IAM member of Pub/Sub's service agent."
  value       = local.service_agent
  depends_on  = [google_pubsub_topic_iam_member.dead_letters]
}

output "topic_ids" {
  description = "Topic ids by name in the code; available once the publishers have permission."
  value       = { for name, topic in google_pubsub_topic.this : name => topic.id }
  depends_on  = [google_pubsub_topic_iam_member.publisher]
}
