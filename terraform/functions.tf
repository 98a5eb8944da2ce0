# The deployed functions. functions/functions.ts defines their triggers and settings; a test compares this table with it
# (test/terraform/deployment.test.ts).
locals {
  all_functions = {
    on-upload = {
      description = "Creates a job from an upload, or a report with the reason for the rejection."
      topic       = "uploads"
      # The largest package, a zip of 2 GiB with 10 GiB, takes 46 to 87 s of a CPU and 210 MiB besides the client libraries
      # (npm run bench -- archive), within 240 s (shared/package/archive/package-limits.ts).
      memory_mib      = 512
      cpu             = "1"
      timeout_seconds = 300
      settings        = local.intake_settings
    }
    on-submit = {
      description = "Creates a job from a message, or a report with the reason for the rejection."
      topic       = "submit"
      # The same as for on-upload.
      memory_mib      = 512
      cpu             = "1"
      timeout_seconds = 300
      settings        = local.intake_settings
    }
    on-control = {
      description = "Cancels jobs."
      topic       = "control"
      settings    = local.event_settings
    }
    provision = {
      description = "Creates the VMs of an attempt."
      topic       = "provision"
      memory_mib  = 512
      # Up to three waits of two minutes for a Compute Engine operation (infra/google-cloud/compute-engine/compute-vm-provider.ts).
      timeout_seconds = 540
      instances_max   = 50
      settings        = local.provision_settings
    }
    teardown = {
      description     = "Deletes the VMs of finished jobs and, in a sweep, orphaned VMs."
      topic           = "teardown"
      memory_mib      = 512
      timeout_seconds = 300
      settings        = local.event_settings
    }
    tuning = {
      description = "Runs hyperparameter tuning: chooses values, starts and ends trials, counts their outcomes."
      topic       = "tuning"
      # The largest suggestion, 100 trials of 500 parameters at once after 10,000 others, computes for up to 3 minutes
      # in 540 MiB; 10 parameters take 7 seconds.
      memory_mib      = 1024
      cpu             = "1"
      timeout_seconds = 540
      # Trials of one tuning that end together commit to one document. As many as this can conflict, which is not more
      # than one message tries to commit (shared/machine/machine.ts); others wait in the subscription.
      instances_max = 8
      settings      = local.event_settings
    }
    watch = {
      description     = "Reconciles jobs: wakes due jobs, evaluates leases, publishes outbox entries."
      topic           = "tick"
      timeout_seconds = 300
      # The next tick handles what this one leaves; more instances would only contend.
      instances_max = 2
      # A late tick has the same effect as the next one; it is retained only as long as the alert on its age needs.
      retention_seconds = 3600
      deliveries_max    = 5
      settings          = local.event_settings
    }
    on-interruption = {
      description = "Interrupts attempts whose VM was preempted or failed."
      topic       = "interruptions"
      settings    = local.event_settings
    }
    report = {
      description = "Writes the report of a job next to its upload."
      topic       = "job-updates"
      settings    = local.store_settings
    }
    # Only with notifications. Each channel has a subscription of its own, without a filter: Pub/Sub cannot change a
    # filter, so another one would replace the subscription with the messages that wait in it. The function filters.
    notify = {
      description = "Sends job updates to notification channels."
      topic       = "job-updates"
      channels    = keys(var.notifications)
      # It mostly waits for channels. One that does not answer holds up to 10 s of one slot, and no other channel.
      cpu           = "1"
      concurrency   = 40
      instances_max = 3
      settings      = local.notify_settings
    }
    on-dead-letter = {
      description = "Records messages that exhausted their deliveries, also on their job or channel."
      topic       = "dead-letters"
      settings    = local.intake_settings
    }
    heartbeat = {
      description   = "Receives heartbeats of VMs, and answers whether to continue or to stop."
      instances_max = 20
      # A heartbeat mostly waits for one write, so one instance serves many. A concurrency above 1 requires a full CPU.
      cpu         = "1"
      concurrency = 40
      settings    = local.heartbeat_settings
    }
    api = {
      description = "The HTTP API and its dashboard."
      ingress     = var.api_access.ingress
      cpu         = "1"
      concurrency = 20
      # Parts of uploads have up to 8 MiB, packages are validated as on-upload does, and metrics that were read are kept
      # (shared/views/metrics/part-cache.ts).
      memory_mib      = 1024
      timeout_seconds = 300
      settings        = local.api_settings
    }
  }

  functions = {
    for name, function in local.all_functions : name => function if name != "notify" || local.has_notifications
  }

  event_functions = { for name, function in local.functions : name => function if can(function.topic) }
}
