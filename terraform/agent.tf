# The agent of the VMs, from the same build as the functions. The metadata of a VM names one object, which the VM reads
# when it boots, perhaps hours after it was created (Flex-start): an apply that replaces the agent deletes none.
locals {
  build_dir  = coalesce(var.functions_dir, "${path.module}/../dist/functions")
  agent_file = "${local.build_dir}/agent.pyz"
}

resource "google_storage_bucket_object" "agent" {
  bucket          = module.storage.bucket_names["sources"]
  name            = "agent/${try(filesha256(local.agent_file), "missing")}.pyz"
  source          = local.agent_file
  content_type    = "application/zip"
  deletion_policy = "ABANDON"

  # The grants of VMs: without them, each job of the new `provision`, which awaits this object, would end with a 403.
  depends_on = [module.storage]

  lifecycle {
    precondition {
      condition     = fileexists(local.agent_file)
      error_message = "agent.pyz is missing in the directory of the functions. Run `npm run build` first."
    }
  }
}
