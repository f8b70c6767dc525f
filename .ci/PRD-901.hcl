# The long proofs, at their full size, as a pipeline: .ci/proof builds the command and runs it. A sample of
# each proof is in PRD-900.

variable "go" {
  description = "The version of Go, with which everything runs again."
  type        = string
}

locals {
  repository = ["cmd", "runner", "pipeline", "checkpoint", "examples", "go.mod", "go.sum", "README.md", ".ci", ".github", ".golangci.yml"]

  # Each names one pattern of tests without alternatives: then its gate notices a test that has another
  # name. In flags, SEED stands for a number that follows from the commit.
  proofs = {
    "kill"                                          = { title = "killed 50 times", package = "./cmd/runner", tests = "^TestKill$", flags = "-kill.count=50 -kill.seed=SEED" }
    "kill-rollback"                                 = { title = "50 rollbacks killed", package = "./cmd/runner", tests = "^TestKillRollback$", flags = "-kill.count=50 -kill.seed=SEED" }
    "kill-import"                                   = { title = "imports killed", package = "./cmd/runner", tests = "^TestKillImport$", flags = "-kill.count=50 -kill.seed=SEED" }
    "crash-points"                                  = { title = "killed and failed at each operation", package = "./cmd/runner", tests = "^TestCrashPoints$", flags = "-crash.every=6 -crash.seed=SEED" }
    "call-killed-anywhere"                          = { title = "a pipeline and the one it calls, killed at each operation", package = "./cmd/runner", tests = "^TestCallKilledAnywhere$", flags = "-crash.every=3 -crash.seed=SEED" }
    "power-cut"                                     = { title = "power cuts", package = "./cmd/runner", tests = "^TestPowerCut$", flags = "-cut.count=300 -cut.seed=SEED" }
    "power-cut-at-operations"                       = { title = "power cuts at each operation", package = "./cmd/runner", tests = "^TestPowerCutAtOperations$", flags = "-cut.points=16 -cut.seed=SEED" }
    "power-cut-at-every-boundary"                   = { title = "every state that a power cut leaves, of a session", package = "./checkpoint", tests = "^TestPowerCutAtEveryBoundary$", flags = "-crash.depth=3 -crash.few=4" }
    "power-cut-at-every-operation"                  = { title = "every state that a power cut leaves, of each operation", package = "./checkpoint", tests = "^TestPowerCutAtEveryOperation$", flags = "-crash.depth=3 -crash.few=4" }
    "migration-cut-short"                           = { title = "every state that a power cut leaves, of a migration", package = "./checkpoint", tests = "^TestMigrationCutShort$", flags = "-crash.depth=3 -crash.few=4" }
    "validate-names-the-file-with-a-flipped-byte"   = { title = "every byte flipped", package = "./checkpoint", tests = "^TestValidateNamesTheFileWithAFlippedByte$", flags = "-crash.depth=3 -crash.few=4" }
    "rollback-faults"                               = { title = "every state that a power cut leaves, of a rollback", package = "./checkpoint/rollback", tests = "^TestRollbackFaults$", flags = "-crash.depth=3 -crash.few=4" }
    "finish-rollback-faults"                        = { title = "every state that a power cut leaves, of a rollback that is finished", package = "./checkpoint/rollback", tests = "^TestFinishRollbackFaults$", flags = "-crash.depth=3 -crash.few=4" }
    "import-cut-short"                              = { title = "every state that a power cut leaves, of an import", package = "./checkpoint/transfer", tests = "^TestImportCutShort$", flags = "-crash.depth=3 -crash.few=4" }
    "rebuild-journal-faults"                        = { title = "every state that a power cut leaves, of a rebuilt journal", package = "./checkpoint/repair", tests = "^TestRebuildJournalFaults$", flags = "-crash.depth=3 -crash.few=4" }
    "readers-beside-an-operation"                   = { title = "readers beside what changes", package = "./checkpoint", tests = "^TestReadersBesideAnOperation$", flags = "-readers.every=4" }
    "histories"                                     = { title = "10,000 histories beside a model", package = "./runner", tests = "^TestHistories$", flags = "-model.histories=10000" }
    "fan-out-histories"                             = { title = "1,000 histories of elements that come and go", package = "./runner", tests = "^TestFanOutHistories$", flags = "-model.histories=1000" }
    "operations"                                    = { title = "400 sequences of operations beside a model", package = "./runner", tests = "^TestOperations$", flags = "-rapid.checks=400 -rapid.seed=SEED" }
    "nothing-kept-loses-what-it-needs"              = { title = "400 histories of pruning beside a model", package = "./checkpoint/prune", tests = "^TestNothingKeptLosesWhatItNeeds$", flags = "-rapid.checks=400 -rapid.seed=SEED" }
    "prune-does-what-its-dry-run-says"              = { title = "400 prunes beside their dry runs", package = "./checkpoint/prune", tests = "^TestPruneDoesWhatItsDryRunSays$", flags = "-rapid.checks=400 -rapid.seed=SEED" }
    "many-runners"                                  = { title = "50 runners at once", package = "./cmd/runner", tests = "^TestMany", flags = "-storm.runners=50 -storm.rounds=3 -storm.seed=SEED" }
    "a-line-without-an-end"                         = { title = "a line of 1 GiB", package = "./cmd/runner", tests = "^TestALineWithoutAnEnd$", flags = "-line.mib=1024" }
    "workflows"                                     = { title = "every workflow, killed ten times", package = "./cmd/runner", tests = "^TestWorkflows$", flags = "-workflow.kills=10" }
    "secrets"                                       = { title = "every way to print a secret", package = "./cmd/runner", tests = "^TestSecrets$", flags = "-secret.all" }
    "a-large-and-odd-tree"                          = { title = "odd names, 300 directories deep", package = "./cmd/runner", tests = "^TestALargeAndOddTree$", flags = "-tree.depth=300" }
    "rollback-many-files"                           = { title = "50,000 files captured and rolled back", package = "./cmd/runner", tests = "^TestRollbackManyFiles$", flags = "-rollback.files=50000" }
    "many-files"                                    = { title = "10,000 files copied and restored", package = "./checkpoint/safety", tests = "^TestMany$", flags = "-safety.files=10000" }
    "cut"                                           = { title = "restores of databases cut off at 60 moments", package = "./checkpoint/savepoint", tests = "^TestCut$", flags = "-savepoint.cuts=60 -savepoint.large=200000" }
    "contract"                                      = { title = "savepoints of databases with large values", package = "./checkpoint/savepoint", tests = "^TestContract$", flags = "-savepoint.large=200000" }
    "safety-on-a-full-disk"                         = { title = "safety checkpoints on a full disk", package = "./cmd/runner", tests = "^TestSafetyOnAFullDisk$", flags = "-fault.all" }
    "disk-faults"                                   = { title = "every disk fault", package = "./cmd/runner", tests = "^TestDiskFaults$", flags = "-full -fault.all" }
    "read-faults"                                   = { title = "every read that fails", package = "./cmd/runner", tests = "^TestReadFaults$", flags = "-full" }
    "work-on-what-is-no-file"                       = { title = "every input that is no file", package = "./cmd/runner", tests = "^TestWorkOnWhatIsNoFile$", flags = "-full" }
    "looking-changes-nothing"                       = { title = "every command that only reads, in every situation", package = "./cmd/runner", tests = "^TestLookingChangesNothing$", flags = "-full" }
    "every-rerun-is-explained"                      = { title = "every reason to run again", package = "./cmd/runner", tests = "^TestEveryRerunIsExplained$", flags = "-full" }
    "an-approval-does-not-outlive-what-it-approved" = { title = "every change after an approval", package = "./cmd/runner", tests = "^TestAnApprovalDoesNotOutliveWhatItApproved$", flags = "-full" }
    "a-cache-gives-what-a-run-would"                = { title = "12 histories with a cache", package = "./cmd/runner", tests = "^TestACacheGivesWhatARunWould$", flags = "-full" }
    "nothing-that-is-printed-steers-a-terminal"     = { title = "every command with hostile output", package = "./cmd/runner", tests = "^TestNothingThatIsPrintedSteersATerminal$", flags = "-full" }
  }
}

pipeline "PRD-901" {
  title = "Long proofs"

  defaults {
    shell   = ["bash", "-euo", "pipefail", "-c"]
    env     = { GO_VERSION = var.go }
    timeout = "3h"
  }

  phase "proofs" {
    max_parallel = 1 # each of them uses all cores by itself

    workstream "proof" {
      for_each  = local.proofs
      title     = each.value.title
      script    = <<-EOT
        . .ci/functions
        read -ra flags <<<"$${FLAGS//SEED/$seed}"
        proof "$LOG" "$PACKAGE" "$TESTS" "$${flags[@]}"
      EOT
      env       = { LOG = "bin/ci/${each.key}.log", PACKAGE = each.value.package, TESTS = each.value.tests, FLAGS = each.value.flags }
      inputs    = local.repository
      artifacts = ["bin/ci/${each.key}.log"]
      gate "nothing-skipped" {
        script = ". .ci/functions; nothing_skipped \"$LOG\""
        env    = { LOG = "bin/ci/${each.key}.log" }
      }
    }
  }

  phase "races" {
    # Those that start a binary of their own, with nothing of the detector in it, run above or in PRD-900.
    workstream "command-line" {
      title     = "The command line with the race detector"
      script    = <<-EOT
        . .ci/functions
        binaries='^Test(CallKilledAnywhere|CrashPoints|DiskFaults|Examples|Kill|KillImport|KillRollback|PowerCut|PowerCutAtOperations|ReadOnlyInMidRun|RollbackFiles|RollbackManyFiles|RollbackThroughFlippedDirectories|Secrets|SlowSync|Soak|Workflows)$'
        raced bin/ci/races-command-line.log "$commandline" -skip="$binaries"
      EOT
      inputs    = local.repository
      artifacts = ["bin/ci/races-command-line.log"]
      gate "nothing-skipped" { script = ". .ci/functions; nothing_skipped bin/ci/races-command-line.log" }
    }
  }

  phase "fuzzing" {
    workstream "fuzz" {
      title  = "20,000 inputs for each fuzz target"
      script = ". .ci/functions; fuzzed 20000"
      inputs = local.repository
    }
  }

  phase "benchmarks" {
    workstream "bench" {
      title  = "The benchmarks"
      script = ". .ci/functions; go run ./examples/bench -dir \"$work\""
      inputs = local.repository
    }
  }
}
