package lease

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fields are those that Clone and AppendState are known to handle. A new one
// must be put into both, or be known to change nothing, before it is named here.
var fields = map[reflect.Type]string{
	reflect.TypeFor[Ledger](): `cfg epoch cluster clusRev policy polRev began election settles awake until revision booted
		complete buried partial retiring halted quotas books order cursor holders sessions lastN queue hungry loads absent
		orphans lapsed writes txns flying lastID next overs counters shrinkAt ready stats situation targets`,
	reflect.TypeFor[quota](): `terms removed removedAt meter window windowRev rolling slots reserve capacity newborn books stock
		buckets granted stranded strands moved floorSpent overspent observed unsure unsureWindow`,
	reflect.TypeFor[book](): `key quota pool rem mark window used pending chunk accounts inherits bounds closed handbacks refunded worst past revision
		state stale inFlight dying queued hungry stash turn place`,
	reflect.TypeFor[account](): `holder session n granted spent returned refunded deadline reportAt echo reported toldAt toldEcho
		untold behind warned marked markGranted markEcho markAt recalledAt surplus clock ask`,
	reflect.TypeFor[session]():       `n holder welcomed pieces ready claims opened told claimed lastSent lastAt heard lastPart roundTrip answeredAt out answer`,
	reflect.TypeFor[stashed]():       `session holder account claim report sent clock`,
	reflect.TypeFor[flight]():        `id kind books quota window slot cluster`,
	reflect.TypeFor[slot]():          `terms owner owned until revision inFlight again told toldAt inherited ahead`,
	reflect.TypeFor[floorRecord]():   `Holder Grant Region Tokens Burst TTL Free Per First Through PriorLast PriorTokens`,
	reflect.TypeFor[clusterRecord](): `Cluster History Longest Election Since Distrust Changed Levels`,
	reflect.TypeFor[windowRecord]():  `History High Spoiled Ends`,
	reflect.TypeFor[newborn]():       `pool rem mark`,
	reflect.TypeFor[holderTable]():   `index list unused cursor`,
	reflect.TypeFor[holderState]():   `id known session complete unheard gone accounts over owes`,
	reflect.TypeFor[policyChange]():  `record terms`,
	reflect.TypeFor[Ready]():         `Loads Txns Batches Closed Halt`,
	reflect.TypeFor[Stats]():         `Granted Refused Malformed NotWritten`,
	reflect.TypeFor[Books]():         `Initial Refilled Refunded Spent Destroyed`,
	reflect.TypeFor[Stock]():         `Pool Chunk Outstanding`,
	reflect.TypeFor[bound]():         `Holder Tokens`,
	reflect.TypeFor[Holder](): `cfg cluster seenEpoch seenRevision policy drift interval roundTrip wall session live lastOut
		quotas names cells cursor bornMu born seq touched urgent dropped closed cut cuts owing ahead made clocked`,
	reflect.TypeFor[holding]():    `terms floor cells count full floorSpent overspent worstOver worstAt forgotten window credited returned max`,
	reflect.TypeFor[floorLease](): `slot grant rate burst start deadline clock`,
	reflect.TypeFor[Cell](): `id seq owner quota lease low refused need waiting waitSince largest answered hint queued next mu floor floorGrant window
		floorSpent gone over overspent overBefore back handing waitMu changed report`,
	reflect.TypeFor[lease]():        `available spent refunded deadline session account granted returned base echo window`,
	reflect.TypeFor[floorClock]():   `windows first told span`,
	reflect.TypeFor[toldWall]():     `wall echo heard`,
	reflect.TypeFor[windowSpan]():   `index start end`,
	reflect.TypeFor[reserve]():      `known window tokens`,
	reflect.TypeFor[hint]():         `at pool wait window`,
	reflect.TypeFor[cellReport]():   `spent returned refunded granted echo ask told at used floored refused waiting again overspent overUsed owing overAt floorSaid saidAt seen largest largeAt low`,
	reflect.TypeFor[handback]():     `holder session grant returned askedAt`,
	reflect.TypeFor[cellHandback](): `floor returned seen window until`,
	reflect.TypeFor[cellOver]():     `cut bucket spent`,
	reflect.TypeFor[overOf]():       `bucket window`,
	reflect.TypeFor[owing]():        `untold told heard cells oldest`,
	reflect.TypeFor[toldCell]():     `cell at`,
	reflect.TypeFor[overspend]():    `cut window began tokens told toldAt`,
	reflect.TypeFor[cutSpan]():      `CutReport told toldAt heard`,
	reflect.TypeFor[CutReport]():    `Number Count Length Closed`,
	reflect.TypeFor[Overspend]():    `Bucket Cut Window Tokens Span`,
	reflect.TypeFor[Moved]():        `Tokens Recalls Time`,
	reflect.TypeFor[worst]():        `excess rem from at`,
	reflect.TypeFor[Observed]():     `Low High LowAt HighAt`,
	reflect.TypeFor[Ask]():          `Demand Want Need`,
	reflect.TypeFor[Claim]():        `Bucket Session Account Spent Returned Refunded Unspent Window`,
	reflect.TypeFor[FloorReturn]():  `Quota Slot Grant Window`,
	reflect.TypeFor[FloorClaim]():   `Quota Slot Grant`,
	reflect.TypeFor[Hello]():        `Session Cluster Holder SeenEpoch SeenRevision PolicyRevision Piece Last Claims Floors`,
	reflect.TypeFor[ReportBatch]():  `Session Sent Part Clock Answered Reports Cuts Overspent Owes Goodbye Floors`,
	reflect.TypeFor[Report]():       `Bucket Account Spent Returned Refunded GrantSeen EchoSeen Ask FloorGrant FloorReturned FloorWindow FloorSpent Span Close`,
	reflect.TypeFor[GrantBatch]():   `Session Echo PolicyRevision StoreRevision Wall Made Grants Recalls Floors`,
	reflect.TypeFor[Grant]():        `Bucket Account Granted TTL Echo Window Pool Wait Closed`,
	reflect.TypeFor[Recall]():       `Bucket Account Keep FloorGrant FloorSeen FloorWindow`,
	reflect.TypeFor[FloorGrant]():   `Quota Slot Grant Tokens Burst TTL Echo First Wall`,
}

func TestCloneAndAppendStateKnowEveryField(t *testing.T) {
	for typ, names := range fields {
		var have []string
		for i := range typ.NumField() {
			have = append(have, typ.Field(i).Name)
		}
		require.Equal(t, strings.Fields(names), have,
			"%v: put what is new into Clone and AppendState, then name it here", typ)
	}
}
