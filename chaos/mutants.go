package chaos

// Mutant is one law that is broken on purpose, by the name of its place in the
// code, and how that is noticed.
type Mutant struct {
	Name string
	Law  string
	// Seeds is how many seeds of the swarm, or of a family of directed schedules,
	// are tried at most; 0 says that a direct check notices it instead.
	Seeds  int
	Family string
}

// Mutants are all places where a build with the tag mutants breaks a law.
var Mutants = []Mutant{
	{"cap on A alone", "1", 100, ""},
	{"accrual after the report", "1", 1000, ""},
	{"a grant before its commit", "2", 1000, ""},
	{"returns into the chunk", "2", 2000, ""},
	{"apply that sets", "2", 200, ""},
	{"an inherited chunk forgotten", "2", 1000, "four failovers in a row"},
	{"a takeover from full buckets", "2", 200, ""},
	{"add instead of max", "3", 100, ""},
	{"a claim clamped in silence", "3", 0, ""},
	{"one account over an expiry", "3", 1000, ""},
	{"credit at expiry", "4", 4000, ""},
	{"a window goes back", "5", 400, "windows under wandering wall clocks"},
	{"Q changed by deltas", "5", 400, ""},
	{"a retry re-anchors the deadline", "6", 400, ""},
	{"a holder without deadlines", "6", 400, ""},
	{"wall-clock expiry", "6", 4000, ""},
	{"suspension not counted", "6", 4000, ""},
	{"clocks beyond the drift", "6", 4000, ""},
	{"a drop after the lease alone", "6", 400, "two leaders"},
	{"the clock compared with a newer deadline", "8", 0, ""},
	{"now read before the take", "8", 0, ""},
	{"a hold reported as spent", "8", 0, ""},
	{"a refund beyond what was admitted", "8", 400, ""},
	{"no fence at the store", "9", 1000, ""},
	{"no fence at the holder", "9", 400, ""},
	{"leadership counted from the answer", "9", 1000, ""},
	{"an old session is heard", "9", 400, "messages of old sessions"},
	{"a second Hello resets", "9", 0, ""},
	{"a floor starts full", "11", 4000, ""},
	{"a floor given twice", "11", 400, "the owner of a floor cut off"},
	{"what was handed back does not count", "11", 2000, "handbacks that arrive late"},
	{"a handback credited again", "11", 4000, ""},
	{"a handback credited above the room", "11", 2000, ""},
	{"floors of a window not reserved", "11", 400, ""},
	{"a window floor begins at once", "11", 400, ""},
	{"two owners of a floor in one window", "11", 400, "floors of windows under leaders whose clocks are apart"},
	{"what older leaders told of a floor forgotten", "11", 400, "floors of windows under leaders whose clocks are apart"},
	{"the window of a floor goes back", "11", 400, "floors of windows under leaders whose clocks are apart"},
	{"a window floor given back and spent", "11", 400, ""},
	{"a handback of an older window credited", "11", 4000, ""},
	{"a floor given up twice", "11", 400, "floors of windows under leaders whose clocks are apart"},
	{"the longest lease lowered at once", "12", 400, "leases shortened, then a failover"},
	{"a record collected too early", "12", 200, ""},
	{"a wiped store born full", "13", 2000, ""},
	{"a share of 0 means unlimited", "15", 0, ""},
	{"one credit for each waiter", "18", 100, ""},
	{"a deaf holder renewed", "section 4", 0, ""},
	{"a fallback without an end", "section 6", 400, "a link that flaps under a fallback"},
	{"a fallback that does not run dry", "section 6", 400, ""},
	{"a fallback kept after the heal", "section 6", 400, ""},
	{"overspend counted again", "section 6", 400, ""},
}
