terraform {
  # Validations that refer to other variables require 1.9.
  required_version = ">= 1.9"

  required_providers {
    # The tests verify this configuration against the schema of 6.50 only. Allow 7.x when its schema is tested.
    google = {
      source  = "hashicorp/google"
      version = ">= 6.50, < 7"
    }
  }
}
