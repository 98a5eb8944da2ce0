# Who may do what: a row is an account, a column a thing, and what is not here nobody may. README.md says why.
locals {
  # Whoever handles a job's event pays the effects that the job owes, and those are messages to these stages.
  stages = ["provision", "teardown", "job-updates"]

  permissions = {
    on-upload       = { database = "write", uploads = ["read", "report"], jobs = ["list"], publishes = local.stages }
    on-submit       = { database = "write", uploads = ["read", "report"], jobs = ["list"], publishes = local.stages }
    on-control      = { database = "write", publishes = local.stages }
    provision       = { database = "write", publishes = local.stages, project = ["vm_creator"], acts_as = ["vm"] }
    teardown        = { database = "write", publishes = local.stages, project = ["vm_remover"] }
    watch           = { database = "write", publishes = local.stages }
    on-interruption = { database = "write", publishes = local.stages }
    report          = { database = "read", uploads = ["list", "report"] }
    on-dead-letter  = { database = "write", uploads = ["list", "report"], publishes = local.stages }
    heartbeat       = { database = "write", publishes = local.stages }
    api             = { database = "write", publishes = local.stages, project = ["log_reader"] }
    vm              = { uploads = ["get"], jobs = ["write"], secrets = "read", project = ["roles/logging.logWriter"] }
    push            = {}
    build           = { sources = ["get"], archives = "read", project = ["roles/logging.logWriter"] }
  }

  database_roles = {
    write = "roles/datastore.user"
    read  = "roles/datastore.viewer"
  }

  # Cloud Functions copies each archive into a bucket of its own, from which Cloud Build fetches it as this account.
  archive_roles = {
    read = "roles/storage.objectViewer"
  }

  # On each of the deployment's secrets, and on no other of the project.
  secret_roles = {
    read = "roles/secretmanager.secretAccessor"
  }

  # On one bucket each. Whoever looks for an object that may not be there must list as well: Cloud Storage says 403
  # instead of 404 to those who may not (docs, "Error responses", 403: "Access denied").
  bucket_roles = {
    get    = "roles/storage.legacyObjectReader"
    list   = "roles/storage.legacyBucketReader"
    read   = "roles/storage.objectViewer"
    report = "roles/storage.objectUser"
    write  = "roles/storage.objectUser"
  }

  # The one place in the uploads where functions write: shared/protocol/report.ts, REPORT_SUFFIX.
  report_condition = {
    title      = "reports-only"
    expression = "resource.name.endsWith(\".report.json\")"
  }

  # Google's own roles for Compute Engine let their holder do anything to any VM, disk and image.
  custom_roles = {
    vm_creator = {
      title       = "Dropforge VM creator"
      description = "Creates VMs from images and machine images, and deletes those it created in vain."
      permissions = [
        "compute.disks.create",
        "compute.disks.setLabels",
        "compute.disks.use",
        "compute.images.get",
        "compute.images.useReadOnly",
        "compute.instances.create",
        "compute.instances.delete",
        "compute.instances.get",
        "compute.instances.setLabels",
        "compute.instances.setMetadata",
        "compute.instances.setServiceAccount",
        "compute.instances.setTags",
        "compute.machineImages.get",
        "compute.machineImages.useReadOnly",
        "compute.reservations.get",
        "compute.snapshots.useReadOnly",
        "compute.subnetworks.use",
        "compute.zoneOperations.get",
      ]
    }
    vm_remover = {
      title       = "Dropforge VM remover"
      description = "Lists VMs and deletes them."
      permissions = [
        "compute.instances.delete",
        "compute.instances.get",
        "compute.instances.list",
        "compute.zoneOperations.get",
      ]
    }
    log_reader = {
      title       = "Dropforge log reader"
      description = "Reads log entries, and nothing else of Cloud Logging."
      permissions = ["logging.logEntries.list"]
    }
  }
}
