locals {
  # One service account per function, so that each stage has its own permissions, and three more.
  accounts = merge(
    { for name, function in local.functions : name => { description = function.description } },
    {
      vm    = { description = "VMs that run training programs, which are untrusted code." }
      push  = { description = "Pub/Sub push requests to functions." }
      build = { description = "Cloud Build, which builds the function images." }
    },
  )
}
