module commands

go 1.21
