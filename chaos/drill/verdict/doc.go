// Package verdict says what a drill showed: PASS, FAIL or INCONCLUSIVE, and why.
//
// The rules, in their order:
//
//   - FAIL if more was observed than the bound allows, or an invariant was broken.
//     Nothing excuses that: not that the run was stopped, nor that the fault
//     was never proven, nor that samples are missing.
//   - FAIL if an expectation was not met. It says something of the system under a
//     fault, and so it counts only if the baseline was healthy and every fault was
//     proven to bite.
//   - INCONCLUSIVE if the run could not have shown a violation, or cannot tell what
//     it showed: a fault that was not proven to bite, load that was not above the
//     limit throughout, a baseline that was not healthy, missing samples, an
//     expectation that was not looked at, a run that was stopped, or a result in
//     which one of these is absent altogether.
//   - PASS otherwise.
//
// There is no score: no amount of good figures outweighs a broken promise, and no
// amount of luck makes up for a test that tested nothing.
//
// The package is pure: a verdict is a function of the result.
package verdict
