// Package rollback takes a session of a PRD back to one of its checkpoints: the state, the
// files of the workspace and, where captures are commits on the branch, the branch.
//
// [PlanTo] returns what a rollback would do, as a [Plan]; it changes nothing. [Run]
// plans and carries the rollback out in four steps: it makes a checkpoint of the present
// state and files, which undoes the rollback; records the intent in the journal;
// restores the files; and records the result. [Finish] carries out the recorded intent
// of a rollback that was interrupted, and [PlanFinish] returns what Finish would do.
// [Inspect] describes a checkpoint with the state that a rollback to it takes, and
// [FindTakenBack] tells which work earlier rollbacks took back.
//
// A rollback overwrites and deletes only files whose present bytes the first of these
// checkpoints holds. It restores no state that is newer than the files it restores;
// earlier.go explains how.
//
// What a checkpoint is and how the journal records events belongs to package checkpoint.
// How files are compared and written belongs to package workspace. Read plan.go first,
// then run.go; finish.go is about interrupted rollbacks. To change which files a
// rollback touches, begin with changes.go.
package rollback
