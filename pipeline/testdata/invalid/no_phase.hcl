# Must give, by line:
# 3: Missing phase
pipeline "PRD-001" {}
