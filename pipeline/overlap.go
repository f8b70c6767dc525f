package pipeline

func (b *builder) overlaps(_ *phaseDef) {}
