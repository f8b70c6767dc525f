module example.com/points

go 1.24
