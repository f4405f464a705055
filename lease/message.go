package lease

import "time"

// Welcome opens a session: the coordinator's first message on a new stream.
type Welcome struct {
	Cluster        string
	Session        Session
	StoreRevision  int64
	Drift          Drift
	ReportInterval time.Duration
	PolicyRevision uint64
	// Policy is the policy in its canonical form, as package policy writes it.
	Policy []byte
}

// Hello answers a Welcome, in pieces that are numbered from 0 and sent in
// order. What a piece does not claim by the time the last one came, the holder
// does not have (law 3).
type Hello struct {
	Session Session
	Cluster string // of which the holder believes to be a part; empty at its first start
	Holder  HolderID
	// SeenEpoch and SeenRevision are the highest that any coordinator of this
	// cluster ever showed to this holder (law 13).
	SeenEpoch    Epoch
	SeenRevision int64
	// PolicyRevision is the revision that the holder enforces.
	PolicyRevision uint64
	Piece          uint32
	Last           bool
	Claims         []Claim
	Floors         []FloorClaim
}

// Claim says what a holder has of a bucket when a session opens. The claims of
// all pieces are numbered from 1 in their order, and that is the number of the
// claimed account in the new session.
type Claim struct {
	Bucket BucketID
	// Session and Account name the account in which the tokens were granted,
	// Spent and Returned are its last counters: the coordinator that granted
	// them merges these before it closes the account.
	Session  Session
	Account  uint64
	Spent    int64
	Returned int64
	Refunded int64 // of Spent
	Unspent  int64
	Window   int64 // of a window quota
}

// FloorClaim says that a holder owns a floor.
type FloorClaim struct {
	Quota string
	Slot  int32
	Grant uint64 // the FloorGrant's number
}

// ReportBatch is what a holder sends upward: at most one message a tick, and a
// heartbeat a second when there is nothing to report.
type ReportBatch struct {
	Session Session
	// Sent is the holder's clock when it first sent these reports. The
	// coordinator does not interpret it but echoes it. A batch that is sent
	// again keeps it (law 6).
	Sent time.Duration
	// Part numbers the parts of a batch that was too long for one message.
	Part uint32
	// Clock is what the coordinator's clock showed at least at Sent, by its last
	// message in the session; 0 is not known.
	Clock time.Duration
	// Answered is the GrantBatch.Made of the last message that reached the holder
	// in the session, 0 if none did: when it grows, the holder hears the
	// coordinator. It is for telling links apart, and no law depends on it.
	Answered time.Duration
	Reports  []Report
	// Cuts and Overspent tell what happened while the holder was cut off.
	Cuts      []CutReport
	Overspent []Overspend
	// Owes is the oldest cut of which anything may still be told, 0 if none.
	Owes uint64
	// Goodbye says that the holder has returned everything, gives up its
	// floors and leaves.
	Goodbye bool
	// Floors are those of window quotas that a goodbye gives up in the window
	// that is open.
	Floors []FloorReturn
}

// FloorReturn gives a floor up in a window. Its owner never spent from the
// buckets of which the session told nothing of the floor: there all of it comes
// back.
type FloorReturn struct {
	Quota  string
	Slot   int32
	Grant  uint64 // the FloorGrant's number
	Window int64
}

// Report tells one bucket's counters and wishes. All counters are cumulative
// in the account; a receiver merges them by max (law 3).
type Report struct {
	Bucket   BucketID
	Account  uint64 // 0: the holder has none
	Spent    int64
	Returned int64
	// Refunded is how much of Spent was taken back since (refund.go).
	Refunded int64
	// GrantSeen and EchoSeen are the greatest Grant.Granted and Grant.Echo
	// that reached the holder for this account.
	GrantSeen int64
	EchoSeen  time.Duration
	Ask       Ask
	// FloorReturned is how much the holder handed back of the floor FloorGrant
	// for this bucket, in the session (law 11); of a window quota, in the window
	// FloorWindow alone.
	FloorGrant    uint64
	FloorReturned int64
	FloorWindow   int64
	// FloorSpent is what was spent from the floor since the last report of this
	// bucket, Span how long before this one that was. Both are for the measure of
	// overshoot and for nothing else: what is lost makes it smaller.
	FloorSpent int64
	Span       time.Duration
	// Close says that the holder has nothing left in the account and forgets
	// it as soon as the coordinator closed it.
	Close bool
}

// CutReport tells how long a holder was cut off: in so many cuts, of which the
// last has this number.
type CutReport struct {
	Number uint64
	Count  int64
	// Length is that of all of them together, so far: from when each was noticed
	// until unreserved tokens were last in use.
	Length time.Duration
	Closed bool // they are over
}

// Overspend is what a holder spent of a bucket unreserved: beyond its lease, in
// one cut and, of a window quota, in one window. Tokens is cumulative; Span is
// how long before the report the first of them was spent.
type Overspend struct {
	Bucket BucketID
	Cut    uint64
	Window int64
	Tokens int64
	Span   time.Duration
}

// Ask is what a holder would like to have of a bucket. It is a wish: no law
// depends on it.
type Ask struct {
	// Demand is the measured demand, admitted or not, in thousandths of a
	// token a second.
	Demand int64
	// Want is how many unspent tokens the holder would like to hold.
	Want int64
	// Need is the largest cost that was refused for want of tokens and is
	// worth collecting for; 0 if none.
	Need int64
}

// GrantBatch is what a coordinator sends downward.
type GrantBatch struct {
	Session Session
	// Echo is the Sent of the last batch that was processed when this one was
	// made, which measures the round trip.
	Echo           time.Duration
	PolicyRevision uint64
	StoreRevision  int64
	// Wall is the coordinator's wall clock when this batch was made, in Unix
	// nanoseconds. A holder that is cut off carries it on by its own monotonic
	// clock to tell the windows apart (law 5).
	Wall int64
	// Made is the coordinator's monotonic clock then, of which the holder's
	// reports speak (ReportBatch.Clock).
	Made    time.Duration
	Grants  []Grant
	Recalls []Recall
	Floors  []FloorGrant
}

// Grant tells a holder how much it was granted in an account, absolutely.
type Grant struct {
	Bucket  BucketID
	Account uint64
	Granted int64 // cumulative in the account
	// TTL is how long the whole account may be spent from, counted by the
	// holder from Echo: the Sent of the report that this grant answers.
	TTL    time.Duration
	Echo   time.Duration
	Window int64 // of a window quota
	// Pool is how many tokens the coordinator had left after this grant, Wait
	// how long until what was asked could be there if nobody else took it.
	// Both are hints for answers to users.
	Pool int64
	Wait time.Duration
	// Closed says that the coordinator closed the account.
	Closed bool
}

// Recall asks a holder to return what it holds unspent above Keep. With a
// FloorGrant it asks, for about a second, for what accrues in that floor while
// it is idle, and says that FloorSeen of it arrived (law 11).
type Recall struct {
	Bucket     BucketID
	Account    uint64
	Keep       int64
	FloorGrant uint64
	FloorSeen  int64
	// FloorWindow is the window that this is about, of a window quota.
	FloorWindow int64
}

// FloorGrant gives a part of a region's floor to a holder (law 11): the right
// to spend Tokens per the quota's period with a burst of Burst, from every
// bucket of the quota, without asking; of a window quota, Tokens in each window
// from First on.
type FloorGrant struct {
	Quota  string
	Slot   int32
	Grant  uint64 // grows with every owner of the slot; 0 takes the floor away
	Tokens int64
	Burst  int64
	TTL    time.Duration // counted by the holder from Echo
	Echo   time.Duration
	// First is the index of the first window that may be spent from, Wall the
	// coordinator's wall clock when it told this, in Unix nanoseconds. Both are 0
	// for a token bucket.
	First int64
	Wall  int64
}
