gate "vet" { command = ["go", "vet" }
