output "service_agent" {
  description = "Pub/Sub's own account, as a member of a policy."
  value       = local.service_agent
  depends_on  = [google_pubsub_topic_iam_member.dead_letters]
}

output "topic_ids" {
  description = "projects/P/topics/T, by the topic's name in the code, once everybody may publish who should."
  value       = { for name, topic in google_pubsub_topic.this : name => topic.id }
  depends_on  = [google_pubsub_topic_iam_member.publisher]
}
