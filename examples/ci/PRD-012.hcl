# A pipeline that jobs of a CI system run: each job goes on where the one before stopped.
#
# github.yml and gitlab.yml are whole workflow files: copy one of them to
# .github/workflows/ or to .gitlab-ci.yml, with a pipeline of your own. They keep the
# state directory .runner from job to job, show what failed, pass the approval on, and lose
# nothing when a machine is taken away.

pipeline "PRD-012" {
  title = "Release of a phrase book"

  phase "check" {
    workstream "book" {
      inputs    = ["src/*.txt"]
      artifacts = ["build/book.txt"]
      script    = "mkdir -p build && cat src/*.txt > build/book.txt"
    }

    workstream "test" {
      depends_on = [workstream.book]
      inputs     = ["build/book.txt", "src/*.txt", "tests/*.sh"]
      script     = "for test in tests/*.sh; do sh \"$test\"; done"
    }

    gate "release" {
      approval { message = "Release build/book.txt?" }
    }
  }

  phase "release" {
    workstream "publish" {
      depends_on = [workstream.book]
      effect     = "once" # a second job must not publish it again
      artifacts  = ["released/book.txt"]
      script     = "mkdir -p released && cp build/book.txt released/book.txt"
    }
  }
}
