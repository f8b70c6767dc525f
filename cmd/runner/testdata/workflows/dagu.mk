done = @mkdir -p $(@D) && touch $@ && echo '$(1)' >> $(RAN)
tables := out/orders/table.csv out/prices/table.csv

all: out/report.txt out/claims.csv out/clean
out/month: data/orders.csv month.awk; $(call done,initialize)
$(tables): out/%/table.csv: out/month data/%.csv table.hcl validate.awk; $(call done,table["$*"])
out/checked: data/rates.csv; $(call done,check-file)
out/rates.csv: out/checked data/rates.csv; $(call done,copy-file)
out/validated: out/rates.csv; $(call done,validate-file)
out/merged.csv: $(tables) out/validated merge.awk; $(call done,merge)
out/totals.csv: out/merged.csv totals.awk; $(call done,calculate)
out/report.txt: out/totals.csv report.awk; $(call done,report)
out/reconciled: out/totals.csv data/ledger.csv reconcile.awk; $(call done,reconcile)
out/claims.csv: out/reconciled data/ledger.csv reconcile.awk; $(call done,claim)
out/clean: out/report.txt out/claims.csv; $(call done,clean)
