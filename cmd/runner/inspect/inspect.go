// Package inspect reads what the commands answer that change nothing: status, history, diff,
// plan, why, and the overview that pages show. It returns values of package info.
//
// Some answers are read from several places: a status also needs the sessions of called
// pipelines. Such reading belongs here. The package takes no lock, changes nothing, and
// prints only warnings. Opening a session belongs in package load, and showing an answer in packages
// show and page. Where to begin:
//
//   - Status reads the status of a session, and Statuses those of all;
//   - Overview reads everything about the session of a PRD;
//   - History and SessionDiff read the sessions of a PRD, with when something ran in them;
//   - StartPreview begins to plan a build that is not carried out;
//   - Why explains a step of it.
package inspect
