locals {
  # A service account for each function, so that a stage has its own rights, and three more.
  accounts = merge(
    { for name, function in local.functions : name => { description = function.description } },
    {
      vm    = { description = "The VMs that run training programs: other people's code." }
      push  = { description = "Pub/Sub, when it pushes messages to functions." }
      build = { description = "Cloud Build, when it makes images of the functions." }
    },
  )
}
