include = ["common/*.hcl"]
hook { on = ["failed"] }
