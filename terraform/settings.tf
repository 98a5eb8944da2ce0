# Settings are environment variables. Each function gets only those that it declares (functions/settings.ts).
locals {
  store_settings = ["PROJECT_ID", "FIRESTORE_DATABASE"]
  # Every function that handles an event of a job publishes job updates, which have links to the page. The API's own
  # address is none: it answers 403 to a browser, which sends no identity token.
  event_settings = concat(local.store_settings, local.page_url == null ? [] : ["PAGE_URL"])
  limit_settings = concat(["VMS_MAX"], var.usd_per_hour_max == null ? [] : ["USD_PER_HOUR_MAX"])
  intake_settings = concat(
    local.event_settings,
    ["UPLOAD_BUCKET", "JOBS_BUCKET", "REGION_DEFAULT", "RUNTIME_VERSION_DEFAULT", "RUNTIME_IMAGES", "ZONES"],
    ["KEEP_ON_FAILURE_SECONDS_MAX", "KEEP_ON_FAILURE_COST_USD_MAX", "SHELL_ACCESS", "INTERNET_ACCESS"],
    local.limit_settings,
    local.has_notifications ? ["NOTIFICATION_CHANNELS"] : [],
    var.encryption == null ? [] : ["DISK_KMS_KEY"],
    local.has_rights ? ["JOB_RIGHTS"] : [],
    local.has_registries ? ["REGISTRIES"] : [],
    var.containers.allow_root ? [] : ["CONTAINERS_AS_ROOT"],
    length(var.data_buckets) > 0 ? ["DATA_BUCKETS"] : [],
  )
  api_settings    = concat(local.intake_settings, ["API_URL"])
  notify_settings = concat(local.event_settings, ["NOTIFICATION_CHANNELS"])
  provision_settings = concat(
    local.event_settings,
    ["SUBNETWORK", "VM_SERVICE_ACCOUNT", "HEARTBEAT_URL", "HEARTBEAT_AUDIENCE", "RUNTIME_IMAGES", "SECURE_BOOT", "AGENT_URI", "CACHE_BUCKET", "SHELL_ACCESS"],
    local.limit_settings,
    var.encryption == null ? [] : ["DISK_KMS_KEY"],
    local.has_rights ? ["JOB_RIGHTS"] : [],
    local.has_registries ? ["REGISTRIES"] : [],
  )
  heartbeat_settings = concat(local.event_settings, ["HEARTBEAT_AUDIENCE", "VM_SERVICE_ACCOUNT"])

  # Cloud Run's deterministic URL. Provision needs it before the function exists, and the function needs it as the
  # audience of the VMs' tokens.
  heartbeat_url = "https://${local.prefix}-heartbeat-${data.google_project.this.number}.${var.region}.run.app"

  api_url = "https://${local.prefix}-api-${data.google_project.this.number}.${var.region}.run.app"

  settings = {
    VMS_MAX                 = tostring(var.vms_max)
    USD_PER_HOUR_MAX        = try(tostring(var.usd_per_hour_max), null)
    PROJECT_ID              = var.project_id
    FIRESTORE_DATABASE      = module.database.name
    UPLOAD_BUCKET           = module.storage.bucket_names["uploads"]
    JOBS_BUCKET             = module.storage.bucket_names["jobs"]
    AGENT_URI               = "gs://${google_storage_bucket_object.agent.bucket}/${google_storage_bucket_object.agent.name}"
    CACHE_BUCKET            = module.storage.bucket_names["cache"]
    REGION_DEFAULT          = coalesce(var.jobs.region, var.region)
    RUNTIME_VERSION_DEFAULT = coalesce(var.jobs.runtime_version, keys(var.runtime_images)[0])
    # A region includes all of its zones. VMs can run only in regions with a subnet.
    ZONES              = join(",", length(var.jobs.zones) > 0 ? var.jobs.zones : local.network.regions)
    SUBNETWORK         = local.network.subnetwork_pattern
    SECURE_BOOT        = tostring(var.vms.secure_boot)
    DISK_KMS_KEY       = try(var.encryption.kms_key_name, null)
    VM_SERVICE_ACCOUNT = module.identities.emails["vm"]
    HEARTBEAT_URL      = local.heartbeat_url
    HEARTBEAT_AUDIENCE = local.heartbeat_url
    PAGE_URL           = local.page_url
    JOB_RIGHTS         = jsonencode(local.job_rights)
    API_URL            = local.api_url
    KEEP_ON_FAILURE_SECONDS_MAX = tostring(
      tonumber(replace(var.keep_on_failure_max, "/[hm]$/", "")) * (endswith(var.keep_on_failure_max, "h") ? 3600 : 60)
    )
    SHELL_ACCESS                 = tostring(var.shell_access != null)
    KEEP_ON_FAILURE_COST_USD_MAX = tostring(var.keep_on_failure_cost_max_usd)
    DATA_BUCKETS                 = join(",", keys(var.data_buckets))
    CONTAINERS_AS_ROOT           = tostring(var.containers.allow_root)
    INTERNET_ACCESS              = jsonencode(local.internet_access)
    # Names of secrets, not their values.
    REGISTRIES = jsonencode({
      for host, registry in var.registries : host => {
        for key, value in { secret = registry.secret, tokenHost = registry.token_host } : key => value if value != null
      }
    })
    # Names of secrets, not their values.
    NOTIFICATION_CHANNELS = jsonencode({
      for name, channel in var.notifications : name => {
        for key, value in {
          kind          = channel.kind
          secret        = channel.secret
          signingSecret = channel.signing_secret
          from          = channel.from
          to            = channel.to
          states        = channel.states
          labels        = channel.labels
          trials        = channel.trials
        } : key => value if value != null
      }
    })
    RUNTIME_IMAGES = jsonencode({
      for version, runtime in var.runtime_images : version => {
        for key, value in {
          # The key of a disk from a machine image cannot be changed.
          machineImages = var.encryption == null ? runtime.machine_images : []
          image         = runtime.image
          architecture  = runtime.architecture == "X86_64" ? null : runtime.architecture
          pythonVersion = runtime.python_version
          gpus          = runtime.gpus
          runtime       = runtime.runtime
          note          = runtime.note
        } : key => value if value != null
      }
    })
  }
}
