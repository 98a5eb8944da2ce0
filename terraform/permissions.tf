# All permissions: one row per account, one column per resource; everything else is denied. README.md has the reasons.
locals {
  has_log_bucket = var.retention.logs_days > 0

  # Every function that handles an event of a job or a tuning publishes its outbox, which are messages to these stages.
  stages = ["provision", "teardown", "tuning", "job-updates"]

  all_permissions = {
    on-upload       = { database = "write", uploads = ["read", "report"], jobs = ["list"], images = "read", publishes = local.stages, project = ["secret_checker"] }
    on-submit       = { database = "write", uploads = ["read", "report"], jobs = ["list"], images = "read", publishes = local.stages, project = ["secret_checker"] }
    on-control      = { database = "write", publishes = local.stages }
    provision       = { database = "write", jobs = ["success"], publishes = local.stages, project = ["vm_creator", "vm_sources"], acts_as = concat(["vm"], var.job_accounts) }
    teardown        = { database = "write", publishes = local.stages, project = ["vm_remover", "vm_lister"] }
    tuning          = { database = "write", publishes = local.stages }
    watch           = { database = "write", publishes = local.stages }
    on-interruption = { database = "write", publishes = local.stages }
    report          = { database = "read", uploads = ["list", "report"] }
    notify          = { database = "write", notification_secrets = "read" }
    on-dead-letter  = { database = "write", uploads = ["read", "report"], publishes = local.stages }
    heartbeat       = { database = "write", publishes = local.stages }
    api             = { database = "write", uploads = ["read"], jobs = ["read", "create"], images = "read", publishes = local.stages, project = concat(["log_reader", "secret_checker"], local.has_log_bucket ? ["roles/logging.viewAccessor"] : []) }
    vm              = { uploads = ["get"], sources = ["get"], jobs = ["write"], cache = ["read", "create"], secrets = "read", images = "read", project = ["roles/logging.logWriter"] }
    push            = {}
    build           = { sources = ["get"], archives = "read", project = ["roles/logging.logWriter"] }
  }

  permissions = {
    for account, granted in local.all_permissions : account => granted if account != "notify" || local.has_notifications
  }

  database_roles = {
    write = "roles/datastore.user"
    read  = "roles/datastore.viewer"
  }

  # Cloud Functions copies each archive to its own bucket, from which Cloud Build downloads it as this account.
  archive_roles = {
    read = "roles/storage.objectViewer"
  }

  # Granted on each of the deployment's secrets, not on the project.
  secret_roles = {
    read = "roles/secretmanager.secretAccessor"
  }

  # Granted on one bucket each. An account that reads objects that may be missing must be able to list as well: without
  # that permission Cloud Storage answers 403 instead of 404 (docs, "Error responses", 403: "Access denied").
  bucket_roles = {
    create  = "roles/storage.objectCreator"
    get     = "roles/storage.legacyObjectReader"
    list    = "roles/storage.legacyBucketReader"
    read    = "roles/storage.objectViewer"
    report  = "roles/storage.objectUser"
    success = "roles/storage.objectViewer"
    write   = "roles/storage.objectUser"
  }

  # By right; without one, a right is on all objects of the bucket.
  bucket_conditions = {
    # Functions may write only reports to the upload bucket: shared/protocol/report.ts, REPORT_SUFFIX.
    report = {
      title      = "reports-only"
      expression = "resource.name.endsWith(\".report.json\")"
    }
    # A success is recorded with the manifest: shared/use-cases/provision/find-success.ts.
    success = {
      title      = "manifests-only"
      expression = "resource.name.endsWith(\"/dropforge-manifest.json\")"
    }
  }

  # Google's predefined roles for Compute Engine allow every operation on any VM, disk and image. What changes a VM is
  # apart from what is read or used for it, because it has a condition on the VM's name (role_conditions).
  custom_roles = {
    vm_creator = {
      title       = "Dropforge VM creator"
      description = "Creates VMs, and deletes those of a failed placement."
      permissions = [
        "compute.instances.create",
        "compute.instances.delete",
        "compute.instances.setLabels",
        "compute.instances.setMetadata",
        "compute.instances.setServiceAccount",
        "compute.instances.setTags",
      ]
    }
    vm_sources = {
      title       = "Dropforge VM sources"
      description = "Uses images, machine images, disks, subnets and reservations for VMs, and reads VMs."
      permissions = concat(local.has_network_attachments ? ["compute.instances.pscInterfaceCreate"] : [], [
        "compute.disks.create",
        "compute.disks.setLabels",
        "compute.disks.use",
        "compute.images.get",
        "compute.images.useReadOnly",
        "compute.instances.get",
        "compute.machineImages.get",
        "compute.machineImages.useReadOnly",
        "compute.reservations.get",
        "compute.snapshots.useReadOnly",
        "compute.subnetworks.use",
        "compute.zoneOperations.get",
      ])
    }
    vm_remover = {
      title       = "Dropforge VM remover"
      description = "Deletes VMs."
      permissions = ["compute.instances.delete"]
    }
    vm_lister = {
      title       = "Dropforge VM lister"
      description = "Lists and reads VMs."
      permissions = ["compute.instances.get", "compute.instances.list", "compute.zoneOperations.get"]
    }
    log_reader = {
      title       = "Dropforge log reader"
      description = "Reads log entries only."
      permissions = ["logging.logEntries.list"]
    }
    # On the project, because a grant on each secret would answer 403 for one that does not exist.
    secret_checker = {
      title       = "Dropforge secret checker"
      description = "Reads the metadata of secret versions by name: no values, no list."
      permissions = ["secretmanager.versions.get"]
    }
  }

  # A list is a request to the project, so no condition on names may apply to it (IAM docs, "Resource-based access").
  role_conditions = merge(
    { for role in ["vm_creator", "vm_remover"] : role => local.vm_condition },
    { "roles/logging.viewAccessor" = local.log_condition },
  )

  # The one log bucket of this deployment (Cloud Logging docs, "Control access to a log view").
  log_condition = {
    title      = "own-logs-only"
    expression = "resource.name == \"projects/${var.project_id}/locations/${var.region}/buckets/${local.prefix}/views/_AllLogs\""
  }

  # The names of VMs: shared/domain/vm-name.ts.
  vm_condition = {
    title      = "vms-of-jobs-only"
    expression = "resource.type != \"compute.googleapis.com/Instance\" || resource.name.extract(\"/instances/{name}\").startsWith(\"df-\")"
  }
}
