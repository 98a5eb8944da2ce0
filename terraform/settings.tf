# Settings are environment variables; each function has those that it asks for (functions/settings.ts) and no others.
locals {
  store_settings = ["PROJECT_ID", "FIRESTORE_DATABASE"]
  intake_settings = concat(
    local.store_settings,
    ["UPLOAD_BUCKET", "JOBS_BUCKET", "REGION_DEFAULT", "RUNTIME_VERSION_DEFAULT", "RUNTIME_IMAGES"],
    length(var.jobs.zones) > 0 ? ["ZONES"] : [],
  )
  provision_settings = concat(
    local.store_settings,
    ["SUBNETWORK", "VM_SERVICE_ACCOUNT", "HEARTBEAT_URL", "HEARTBEAT_AUDIENCE", "RUNTIME_IMAGES"],
  )
  heartbeat_settings = concat(local.store_settings, ["HEARTBEAT_AUDIENCE", "VM_SERVICE_ACCOUNT"])

  # Cloud Run's address that follows from names alone. Provision needs it before the function exists, and the function
  # needs it as the audience of VMs' tokens.
  heartbeat_url = "https://${local.prefix}-heartbeat-${data.google_project.this.number}.${var.region}.run.app"

  settings = {
    PROJECT_ID              = var.project_id
    FIRESTORE_DATABASE      = module.database.name
    UPLOAD_BUCKET           = module.storage.bucket_names["uploads"]
    JOBS_BUCKET             = module.storage.bucket_names["jobs"]
    REGION_DEFAULT          = coalesce(var.jobs.region, var.region)
    RUNTIME_VERSION_DEFAULT = coalesce(var.jobs.runtime_version, keys(var.runtime_images)[0])
    ZONES                   = join(",", var.jobs.zones)
    SUBNETWORK              = module.network.subnetwork_pattern
    VM_SERVICE_ACCOUNT      = module.identities.emails["vm"]
    HEARTBEAT_URL           = local.heartbeat_url
    HEARTBEAT_AUDIENCE      = local.heartbeat_url
    RUNTIME_IMAGES = jsonencode({
      for version, runtime in var.runtime_images : version => {
        for key, value in {
          machineImages = runtime.machine_images
          image         = runtime.image
          pythonVersion = runtime.python_version
          runtime       = runtime.runtime
          note          = runtime.note
        } : key => value if value != null
      }
    })
  }
}
