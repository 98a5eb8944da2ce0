terraform {
  # Validations that refer to other variables require 1.9.
  required_version = ">= 1.9"

  required_providers {
    # Planned with the schema of 6.50, and with its changes in 7 and 8 (README.md, Provider version).
    google = {
      source  = "hashicorp/google"
      version = ">= 6.50, < 9"
    }
  }
}
