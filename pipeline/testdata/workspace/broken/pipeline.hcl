gate "vet" { command = ["true"] }
pipeline "PRD-002" {}
