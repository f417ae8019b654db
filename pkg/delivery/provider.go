// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// Provider makes name servers hold zones. One is made for each class and used by any number of goroutines, each for
// another zone. Every method is idempotent, returns when its context ends, and reports what went wrong as an *Error.
type Provider interface {
	// Deliver makes the provider hold plan.Zone as it is at plan.Serial. Before every call that changes something
	// outside it asks fence; when that fails it stops at once and returns the fence's error as it is. Every single call
	// outside ends within plan.CallTimeout. The whole may take long in a large zone, but it does not wait for servers
	// to follow for longer than that: it reports what they have and is asked again. A report is returned beside an
	// error too: what it says is true.
	Deliver(ctx context.Context, plan Plan, fence Fence) (Report, error)
	// Remove removes what Deliver put there for the zone, and nothing that others put there. plan.All are the RRsets
	// that stand there as far as is known, plan.Changes those that may stand there besides; their After is empty.
	Remove(ctx context.Context, plan Plan, fence Fence) (Report, error)
	// Verify compares without changing anything. Errors: *Error; one that wraps ErrCannotList where the provider has no
	// way to tell. Beside one of ReasonInvalidConfiguration Drift.Servers are the rows of the servers that are left.
	Verify(ctx context.Context, plan Plan) (Drift, error)
	// Health asks whether the provider answers and lets us in. Errors: *Error; one that wraps ErrNotProven where its
	// answer does not tell.
	Health(ctx context.Context) error
	// AskLast asks each server, once, for the zone that it confirmed last, and returns the names of the servers that have
	// an earlier serial of it, or lost it: these may have lost more. A server is returned once until it confirms again.
	// Nil from a provider whose servers do not fetch zones.
	AskLast(ctx context.Context) (lost []string)
	// Abilities are what the provider can do, the same for as long as it lives.
	Abilities() Abilities
	// Close lets go of connections. No other method is called after it.
	Close() error
}

// Abilities are what providers differ in. Callers go by them and ask for no kind of provider. They are one method that
// every provider has, and no interfaces of their own: an interface that a provider lacks, or that a wrapper hides,
// would be missed in silence. deliverytest examines a provider by what it says here. Properties that differ from zone
// to zone or from call to call stand in the answers: ErrCannotList, ErrNotProven, Drift.Unfit, Report.Skipped, and
// Report.Servers, whose rows are the servers that there are at that moment.
type Abilities struct {
	// Lists says that Verify reads all that the provider holds of a zone, and reports what is foreign there. Without
	// it Verify asks for what the zone has and sees nothing besides.
	Lists bool
	// OwnApexNS says that the provider has NS of its own at the apex, so those of the zone are not written, removed
	// or compared.
	OwnApexNS bool
	// Fetched says that servers fetch zones from what the provider shows them, so Deliver changes nothing outside.
	// That a zone is confirmed proves something where Report.Servers has rows, and to compare it costs a question to
	// each of them.
	Fetched bool
	// Claims are names of which each means one thing in all classes together, and what each means to this class: a text
	// that is compared and never printed.
	Claims map[string]string
}

// Fence proves that no other worker has begun to deliver a later plan of the zone. It returns an error when one has,
// or when that cannot be told: then nothing more may be written (F22). It waits for the class's rate limit
// first, so one call of it is one call outside. The first one makes the intent known; a Deliver that finds nothing to
// write does not ask and leaves no trace. It is given the method's context, not that of a call, whose time would run
// while it waits.
type Fence func(ctx context.Context) error

// Plan is one zone at one settled serial. Say example.org. had these RRsets at serial 7, which the provider
// confirmed, and has them at 8:
//
//	at 7                        at 8
//	@    NS  ns1.example.net.   @     NS  ns1.example.net.
//	old  A   192.0.2.1
//	                            mail  A   192.0.2.2
//	www  A   192.0.2.3          www   A   192.0.2.4
//
// Then the plan has
//
//	Since 7, Serial 8, Delivered
//	Changes  mail A   Before nothing     After 192.0.2.2
//	         old  A   Before 192.0.2.1   After nothing
//	         www  A   Before 192.0.2.3   After 192.0.2.4
//	All      @ NS, mail A, www A, as they are at 8
//
// and for a zone that was never delivered, or of which the difference is not known, Since 0, Changes nil and the same
// All. Deliver does what this does, in as many or as few calls outside as the provider likes:
//
//	puts := the After of each of plan.Changes
//	if plan.Changes == nil {
//		puts = plan.All                       // what else stands there stays
//	}
//	for each set of puts {
//		stands := what the provider holds of set.Key(), where it can tell
//		switch {
//		case stands is set:                   // nothing to do, nothing to ask
//		case stands is not ours:              // neither Before nor, of an Uncertain plan, in Owed or History
//			report.Failed += set, Conflict    // or it is replaced, where the class says so
//		default:
//			if err := fence(ctx); err != nil { return report, err }
//			make it set; remove it where set has no Data
//			if the provider refuses it { report.Failed += set, its reason }
//		}
//	}
//	report.Confirmed = plan.Serial
type Plan struct {
	Zone name.Name
	// UID of the Zone object: a zone made anew under the same name is another one.
	UID string
	// Serial is what the provider shall hold, Hash what the zone then contains.
	Serial serial.Serial
	Hash   string
	// Since is the serial the provider confirmed last, 0 for none.
	Since serial.Serial
	// SOA is the zone's, absolute presentation form.
	SOA RRset
	// Changes are the RRsets that differ between Since and Serial, as they shall be and as they were, in canonical
	// order. They are nil where the difference is not known: then the whole zone is compared or written, and what the
	// provider holds besides is left alone. Where they are empty and not nil the RRsets are the same, and only the
	// serial is another.
	Changes []Change
	// Uncertain says that an earlier plan was written in part, or may still arrive. What stands in the place of a
	// Change may be neither Before nor After and ours nevertheless: it is replaced without asking what it was, but by
	// providers that leave alone what others have there; these go by Owed and History.
	Uncertain bool
	// Delivered says that an earlier serial was confirmed there. Where it is not, nothing that stands there is known
	// to be ours.
	Delivered bool
	// Owed and History tell of an uncertain plan what may be ours. Owed are the RRsets that were refused, or may stand
	// half written: of all others in Changes, Before was confirmed. Nil: more than are remembered. History is what each
	// serial did since the earliest of which something may stand there, up to All; nil where that is not known.
	Owed    []RRsetKey
	History []dns.Change
	// Forgotten says that what the zone has lost since an earlier delivery is not known any more, so All and Changes
	// do not name all that may stand there and be ours.
	Forgotten bool
	// Named says that Changes name all that may stand there all the same, but not what was in it.
	Named bool
	// CallTimeout bounds every single call outside.
	CallTimeout time.Duration
	// Whole says that Verify compares all of the zone in this call, however long that takes. Without it a provider
	// that asks for each RRset may compare some of them, and go on behind these the next time.
	Whole bool
	// All are all RRsets of the zone at Serial but the SOA, in canonical order.
	All iter.Seq[RRset]
	// Servers are the names of the rows of the last report that was stored. A server of a class whose servers come and
	// go may hold the zone as long as it has a row, whether or not the class has it still.
	Servers []string
}

// RRsetKey names an RRset of a zone.
type RRsetKey struct {
	Name name.Name
	Type rdata.Type
}

// String is "www.example.org. A".
func (k RRsetKey) String() string { return k.Name.String() + " " + k.Type.String() }

// Compare is the canonical order: names (RFC 4034 §6.1), then types by number.
func (k RRsetKey) Compare(other RRsetKey) int {
	return cmp.Or(k.Name.Compare(other.Name), cmp.Compare(k.Type, other.Type))
}

// ParseRRsetKey reads what RRsetKey.String wrote.
func ParseRRsetKey(text string) (RRsetKey, error) {
	owner, mnemonic, _ := strings.Cut(text, " ")
	n, err := name.Parse(owner)
	if err != nil {
		return RRsetKey{}, fmt.Errorf("RRset %q: %w", text, err)
	}
	t, err := rdata.ParseType(mnemonic)
	if err != nil {
		return RRsetKey{}, fmt.Errorf("RRset %q: %w", text, err)
	}
	return RRsetKey{n, t}, nil
}

// RRset is one RRset with absolute names in presentation form; without Data there is none.
type RRset struct {
	Name name.Name
	Type rdata.Type
	TTL  uint32
	Data []string
}

// Key of an RRset.
func (s RRset) Key() RRsetKey { return RRsetKey{s.Name, s.Type} }

// GroupRRsets groups entries in canonical order into RRsets, leaving out the SOA.
func GroupRRsets(entries iter.Seq[dns.Entry]) iter.Seq[RRset] {
	return func(yield func(RRset) bool) {
		var set RRset
		for entry := range entries {
			if entry.Type == rdata.SOA {
				continue
			}
			if key := (RRsetKey{entry.Name, entry.Type}); len(set.Data) == 0 || key != set.Key() {
				if len(set.Data) > 0 && !yield(set) {
					return
				}
				set = RRset{Name: entry.Name, Type: entry.Type, TTL: entry.TTL}
			}
			set.Data = append(set.Data, entry.Data)
		}
		if len(set.Data) > 0 {
			yield(set)
		}
	}
}

// Change of an RRset: what it was and shall be. Both have the name and type.
type Change struct{ Before, After RRset }

// Report says what was done.
type Report struct {
	// Confirmed is the serial that everything the class consists of holds, 0 where that is not known.
	Confirmed serial.Serial
	// Servers has a row for each server or instance, in the order of the class; none where the provider is one service.
	Servers []Server
	// Failed are RRsets that the provider refused; all others are delivered, so Confirmed is Serial beside them.
	Failed []Failure
	// Skipped counts RRsets that the provider has no form for.
	Skipped int
	// Proven says that an answer in this call proves that the provider lets us in.
	Proven bool
	// Remains says that of a zone of which something is Forgotten RRsets may still stand there that it has no more.
	Remains bool
}

// Server is one server of a class.
type Server struct {
	// Name is what the class calls it: an address, an instance.
	Name string
	// Serial is the serial of the zone that it has, 0 for none or one that is not known.
	Serial serial.Serial
	// Note is what else there is to say about a server without Err, at the time in At.
	Note string
	// Err is why it does not hold the serial, nil while it does or is on its way. Its message names the server: Ready
	// of the Delivery says it without the row.
	Err *Error
	// At is when this was seen.
	At time.Time
}

// Alike reports whether both rows say the same, but for when.
func (s Server) Alike(other Server) bool {
	if s.Err == nil != (other.Err == nil) || s.Err != nil && s.Err.Message != other.Err.Message {
		return false
	}
	return s.Name == other.Name && s.Serial == other.Serial
}

// Failure is one RRset that was refused.
type Failure struct {
	Name name.Name
	Type rdata.Type
	Err  *Error
}

// Key of the RRset.
func (f Failure) Key() RRsetKey { return RRsetKey{f.Name, f.Type} }

// Drift is what a provider holds beside and in the place of the zone.
type Drift struct {
	// Missing and Differing are given as the zone has them.
	Missing, Differing []RRset
	// Unfit are RRsets that the provider has no form for, or refuses: it does not have them, and another delivery
	// would not change that.
	Unfit []RRset
	// Foreign are RRsets that we did not put there. They are left alone.
	Foreign []RRset
	Servers []Server
}

// Empty reports whether the provider holds the zone.
func (d Drift) Empty() bool { return len(d.Missing)+len(d.Differing) == 0 }
