package checkpoint

import "prdrunner/checkpoint/disk"

type (
	CheckpointFile = disk.CheckpointFile
	DirError       = disk.DirError
	IDError        = disk.IDError
	Recovery       = disk.Recovery
)
