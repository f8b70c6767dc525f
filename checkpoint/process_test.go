package checkpoint

func helperProcess() {}
