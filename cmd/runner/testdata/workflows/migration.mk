done = @mkdir -p $(@D) && touch $@ && echo '$(1)' >> $(RAN)

all: applied
build/db: go.mod go.sum $(wildcard cmd/db/*.go); $(call done,tool)
database: build/db; $(call done,database)
backup/app.db: database; $(call done,backup)
build/schema.sql: backup/app.db $(wildcard migrations/*.sql); $(call done,rehearsal)
applied: build/schema.sql $(wildcard migrations/*.sql); $(call done,apply)
