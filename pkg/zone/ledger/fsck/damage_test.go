// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/rules"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/fsck"
	"kubi.zone/kubizone/pkg/zone/ledger/history"
	"kubi.zone/kubizone/pkg/zone/ledger/journal"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

func withPrefix() []clientv3.OpOption { return []clientv3.OpOption{clientv3.WithPrefix()} }

type vandal struct {
	t    *testing.T
	s    *store.Server
	st   *store.Store
	undo []clientv3.Op
}

func (v *vandal) getValue(key string) []byte {
	v.t.Helper()
	r := store.Must(v.st.Client.Client.Get(v.s.Ctx, key))
	if len(r.Kvs) == 0 {
		v.t.Fatalf("nothing at %s to damage", key)
	}
	return r.Kvs[0].Value
}

func (v *vandal) putValue(key string, value []byte) {
	v.t.Helper()
	r := store.Must(v.st.Client.Client.Get(v.s.Ctx, key))
	if len(r.Kvs) == 0 {
		v.undo = append(v.undo, clientv3.OpDelete(key))
	} else {
		v.undo = append(v.undo, clientv3.OpPut(key, string(r.Kvs[0].Value)))
	}
	if value == nil {
		store.Must(v.st.Client.Client.Delete(v.s.Ctx, key))
	} else {
		store.Must(v.st.Client.Client.Put(v.s.Ctx, key, string(value)))
	}
}

func (v *vandal) restoreAll() {
	for i := len(v.undo) - 1; i >= 0; i-- {
		store.Must(v.st.Client.Client.Do(v.s.Ctx, v.undo[i]))
	}
	v.undo = nil
}

// editValue changes the JSON value of the first suitable key under a prefix.
func editValue[T any](v *vandal, under string, change func(key string, value *T) bool) string {
	v.t.Helper()
	r := store.Must(v.st.Client.Client.Get(v.s.Ctx, under, withPrefix()...))
	for _, kv := range r.Kvs {
		var value T
		if err := json.Unmarshal(kv.Value, &value); err != nil {
			v.t.Fatalf("%s: %v", kv.Key, err)
		}
		if change(string(kv.Key), &value) {
			v.putValue(string(kv.Key), store.Must(json.Marshal(value)))
			return string(kv.Key)
		}
	}
	v.t.Fatalf("nothing under %s suits", under)
	return ""
}

func (v *vandal) editObject(key string, o runtime.Object, change func()) string {
	v.t.Helper()
	codec := store.Codec()
	must.Succeed(v.t, codec.Decode(v.s.Ctx, key, v.getValue(key), 0, o))
	change()
	v.putValue(key, store.Must(runtime.Encode(codec.Codec, o)))
	return key
}

func (v *vandal) editZone(ns, name string, change func(*v1alpha1.Zone)) string {
	z := &v1alpha1.Zone{}
	return v.editObject(v.s.Ledger.Layout().Zone(ns, name), z, func() { change(z) })
}

func (v *vandal) editRecord(ns, name string, change func(*v1alpha1.Record)) string {
	r := &v1alpha1.Record{}
	return v.editObject(v.s.Ledger.Layout().Record(ns, name), r, func() { change(r) })
}

func (v *vandal) editDelegation(ns, name string, change func(*v1alpha1.Delegation)) string {
	d := &v1alpha1.Delegation{}
	return v.editObject(v.s.Ledger.Layout().Delegation(ns, name), d, func() { change(d) })
}

func (v *vandal) firstUnder(room string) (key string, value []byte) {
	v.t.Helper()
	r := store.Must(v.st.Client.Client.Get(v.s.Ctx, v.prefixOf(room), withPrefix()...))
	if len(r.Kvs) == 0 {
		v.t.Fatalf("nothing under %s", room)
	}
	return string(r.Kvs[0].Key), r.Kvs[0].Value
}

func (v *vandal) editRaw(room string, change func([]byte) []byte) string {
	key, value := v.firstUnder(room)
	v.putValue(key, change(value))
	return key
}

func (v *vandal) prefixOf(room string) string { return v.s.Ledger.Layout().Room(room) }

// findMiddle returns the key of a journal step from the middle of example.org. The step and its predecessor have keys
// of their own, whereas a transaction of several writes stores all steps under a single key.
func (v *vandal) findMiddle() string { _, mid := v.findMiddlePair(); return mid }

func (v *vandal) findMiddlePair() (before, mid string) {
	v.t.Helper()
	uid := string(v.s.Zone("infra", "example").UID)
	last, alone := "", false
	r := store.Must(v.st.Client.Client.Get(v.s.Ctx, v.prefixOf("journal")+uid+"/", withPrefix()...))
	for i, kv := range r.Kvs {
		var tx content.Transaction
		must.Succeed(v.t, json.Unmarshal(kv.Value, &tx))
		if len(tx.Steps) == 0 { // a mark of a settled zone
			continue
		}
		if i > 3 && alone && len(tx.Steps) == 1 {
			return last, string(kv.Key)
		}
		last, alone = string(kv.Key), len(tx.Steps) == 1
	}
	v.t.Fatal("no two steps beside each other stand alone")
	return "", ""
}

func (v *vandal) editStep(change func(*content.Step)) string {
	key := v.findMiddle()
	var tx content.Transaction
	must.Succeed(v.t, json.Unmarshal(v.getValue(key), &tx))
	change(&tx.Steps[0])
	v.putValue(key, store.Must(json.Marshal(tx)))
	return key
}

// doing damages the store and returns the key to report.
type doing func(*vandal) string

// editAt changes the JSON value of the first suitable key under a room and the rest of a prefix.
func editAt[T any](room, rest string, change func(*T) bool) doing {
	return func(v *vandal) string {
		return editValue(v, v.prefixOf(room)+rest, func(_ string, value *T) bool { return change(value) })
	}
}

func putAt(room, rest, value string) doing {
	return func(v *vandal) string {
		v.putValue(v.prefixOf(room)+rest, []byte(value))
		return v.prefixOf(room) + rest
	}
}

// copyTo puts the value of a key under another key of the room.
func copyTo(room, rest, from string) doing {
	return func(v *vandal) string { return putAt(room, rest, string(v.getValue(v.prefixOf(room)+from)))(v) }
}

func dropFrom(room, rest string) doing {
	return func(v *vandal) string {
		v.getValue(v.prefixOf(room) + rest)
		v.putValue(v.prefixOf(room)+rest, nil)
		return v.prefixOf(room) + rest
	}
}

func editRecord(ns, name string, change func(*v1alpha1.Record)) doing {
	return func(v *vandal) string { return v.editRecord(ns, name, change) }
}

func editZone(ns, name string, change func(*v1alpha1.Zone)) doing {
	return func(v *vandal) string { return v.editZone(ns, name, change) }
}

func editStep(change func(*content.Step)) doing {
	return func(v *vandal) string { return v.editStep(change) }
}

// reportAt reports another key than that of the damage.
func (d doing) reportAt(key string) doing {
	return func(v *vandal) string {
		d(v)
		return key
	}
}

func TestRun_findsEveryKindOfDamage(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: one damage after the other, which the race detector learns nothing from")
	}
	st := store.New(t)
	s := writeWorld(t, st)
	keys := s.Ledger.Layout()
	example, held, lent := string(s.Zone("infra", "example").UID), string(s.Zone("infra", "held").UID), string(s.Zone("infra", "lent").UID)
	reverse := string(s.Zone("infra", "reverse").UID)
	dev, old := s.Zone("team-d", "dev"), s.Zone("infra", "old")
	const holding, child = "@/org.example.", "@/org.example.dev."
	owner := func(name string) string { return keys.Room("owners") + example + "/" + name }
	moveRecord := func(namespace, object, to, reported string) doing {
		return editRecord(namespace, object, func(r *v1alpha1.Record) { r.Spec.DomainName = to }).reportAt(owner(reported))
	}
	planted := func(w law.Work) string { return string(store.Must(json.Marshal(w))) }
	place := law.Place{Ref: law.Ref{Namespace: "infra", Name: "example", UID: example}}
	cases := []struct {
		name string
		rule fsck.Rule
		do   doing
	}{
		{"a segment is damaged", "S7.13", func(v *vandal) string {
			return v.editRaw("history", func(value []byte) []byte { return value[:len(value)-1] })
		}},
		{"a segment under another step", "S7.13", func(v *vandal) string {
			key, value := v.firstUnder("history")
			v.putValue(key, nil)
			other := key[:len(key)-1] + "f"
			v.putValue(other, value)
			return other
		}},
		{"a segment is gone", "S7.13", func(v *vandal) string {
			key, _ := v.firstUnder("history")
			v.putValue(key, nil)
			at, _ := keys.ParseSegment(key)
			return keys.Share(at.Account)
		}},
		{"a share is gone", "S7.13", dropFrom("shares", "infra")},
		{"a share is another", "S7.13", editAt("shares", "", func(x *history.Share) bool { x.Octets++; return true })},
		{"an archive beyond the zone", "S7.13", editAt("archived", held+"/", func(x *history.Archived) bool {
			x.Last = 1 << 30
			return true
		})},
		{"no archive of segments", "S7.13", func(v *vandal) string {
			v.putValue(v.prefixOf("archived")+held+"/", nil)
			return v.prefixOf("archived") + held + "/infra"
		}},
		{"a removed zone under another's name", "S7.13", func(v *vandal) string {
			key := keys.ArchivedFQDN("other.org.", "infra", "")
			v.putValue(key, layout.Encode(&history.Header{FQDN: "gone.org.", Namespace: "infra"}))
			return key
		}},
		{"a Delegation that left no zone", "S7.13", func(v *vandal) string {
			key := keys.LeftDelegation("none", "team")
			v.putValue(key, layout.Encode(&history.OldDelegation{Name: "team"}))
			return key
		}},
		{"a state that does not unpack", "S7.13", editAt("before", "", func(x *history.Before) bool {
			x.Of[0].State[0] = 'x'
			return true
		})},
		{"a state of no step", "S7.13", func(v *vandal) string {
			_, value := v.firstUnder("before")
			key := keys.Before("infra", example, 1<<30)
			v.putValue(key, value)
			return key
		}},
		{"no format", "format", func(v *vandal) string {
			v.putValue(keys.Config(), []byte(`{"hashAlgorithm":1}`))
			return keys.Config()
		}},
		{"another hash algorithm", "format", func(v *vandal) string {
			v.putValue(keys.Config(), fmt.Appendf(nil, `{"format":%d,"hashAlgorithm":7}`, ledger.Format))
			return keys.Config()
		}},
		{"a room that does not exist", "format", func(v *vandal) string {
			v.putValue(keys.Internal()+"later/x", []byte("{}"))
			return keys.Internal() + "later/x"
		}},
		{"no name", "S1.5", dropFrom("names", holding)},
		{"a name of no zone", "S1.5", putAt("names", "@/test.nozone.", `{"namespace":"x","name":"y","uid":"z"}`)},
		{"a name twice", "S1.5", copyTo("names", "@/test.twice.", holding)},
		{"a name that does not parse", "I2", putAt("names", holding, "{")},
		{"another parent", "S3.1", editAt("names", child, func(h *law.Holding) bool { h.Parent = nil; return true })},
		{"a zone that refers to none", "S1.6", editAt("names", child, func(h *law.Holding) bool {
			h.Target = &law.Ref{Namespace: "infra", Name: "none"}
			return true
		})},
		{"other apex NS", "S6.2", editAt("names", holding, func(h *law.Holding) bool { h.ApexNS = append(h.ApexNS, "zz"); return true })},
		{"another host of the apex", "S4.10", editAt("names", holding, func(h *law.Holding) bool {
			h.ApexHosts = map[string]int{"zz": 1}
			return true
		})},
		{"another number of Delegations", "S4.3", editAt("names", holding, func(h *law.Holding) bool {
			h.Delegations++
			return h.Delegations > 1
		})},
		{"no rules of a namespace", "S4.3", dropFrom("rules", example+"/team-f")},
		{"rules of no Delegation", "S4.3", copyTo("rules", example+"/team-x", example+"/team-f")},
		{"a rule that its Delegation has not", "S4.3", editAt("rules", example+"/team-f", func(r *law.NamespaceRules) bool {
			r.List[0].Rule.Namespaces = append(r.List[0].Rule.Namespaces, "team-x")
			return true
		})},
		{"a Delegation in force in no zone", "S4.3", func(v *vandal) string {
			return v.editDelegation("team-a", "never", func(d *v1alpha1.Delegation) {
				d.Status.ZoneRef = &v1alpha1.AdoptingZone{Namespace: "team-a", Name: "never", UID: "zz"}
				d.Status.Conditions[0].Status = "True"
			})
		}},
		{"a Delegation that waits for a zone which exists", "S4.3", func(v *vandal) string {
			return v.editDelegation("infra", "shared", func(d *v1alpha1.Delegation) {
				d.Status.ZoneRef, d.Status.Conditions[0].Status, d.Status.Conditions[0].Reason = nil, "False", v1alpha1.ReasonZoneNotFound
			})
		}},
		{"a Delegation that does not parse", "S4.3", func(v *vandal) string {
			v.putValue(keys.Delegation("infra", "shared"), []byte("{"))
			return keys.Delegation("infra", "shared")
		}},
		{"a Delegation that no zone would find", "S2.3", dropFrom("orphans", "@ref/team-a/never/d/team-a/never")},
		{"a withdrawal that is none", "S3.5", editAt("names", child, func(h *law.Holding) bool { h.Withdrawn = "zz"; return true })},
		{"the mark of no work", "I4", editAt("names", holding, func(h *law.Holding) bool {
			h.Works = []law.CascadeMark{{ID: "lost"}}
			return true
		})},
		{"a work without its mark", "I4", putAt("outbox", "w1", planted(law.Work{ID: "w1", Reason: "planted",
			Zones: []law.Place{place}})).reportAt(keys.Room("names") + holding)},
		{"a work that purges a living zone", "I4", putAt("outbox", "w1", planted(law.Work{ID: "w1", Purge: example}))},
		{"settled with work", "S7.2", func(v *vandal) string {
			v.putValue(v.prefixOf("outbox")+"w1", []byte(planted(law.Work{ID: "w1", Zones: []law.Place{place}})))
			editValue(v, v.prefixOf("names")+holding, func(_ string, h *law.Holding) bool {
				h.Works = []law.CascadeMark{{ID: "w1"}}
				return true
			})
			return v.editZone("infra", "example", func(z *v1alpha1.Zone) { z.Status.SettledSerial-- })
		}},
		{"unsettled without work", "S7.2", editZone("infra", "example", func(z *v1alpha1.Zone) { z.Status.SettledSerial-- })},
		{"more than at most", "S7.5", editZone("infra", "example", func(z *v1alpha1.Zone) {
			z.Status.Deletions.Most.Own = z.Status.Deletions.Own - 1
		})},
		{"a name that no Delegation names", "S4.22", editAt("owners", example+"/www.", func(o *law.Owner) bool {
			o.Named = append(o.Named, law.Naming{Namespace: "zz", Count: 1})
			return true
		})},
		{"a guest's value that is not counted as such", "I1", editAt("owners", example+"/app._acme-challenge.", func(o *law.Owner) bool {
			had := o.Values[0].Guests == 1
			o.Values[0].Guests = 0
			return had
		})},
		{"no data of own at an underscore name", "S4.14", editAt("owners", example+"/apps.both._dmarc.", func(o *law.Owner) bool {
			had := o.Own > 0
			o.Own = 0
			return had
		})},
		{"a pointer of own that is not counted", "S4.26", editAt("owners", example+"/mail.", func(o *law.Owner) bool {
			had := o.Pointers > 0
			o.Pointers = 0
			return had
		})},
		{"an owner gone", "I1", dropFrom("owners", example+"/www.")},
		{"an owner of nothing", "I1", putAt("owners", example+"/never.", "{}")},
		{"a value miscounted", "I1", editAt("owners", example+"/www.", func(o *law.Owner) bool { o.Values[0].Count++; return true })},
		{"a value of another ttl", "I1", editAt("owners", example+"/mail.", func(o *law.Owner) bool {
			o.Values[0].TTL = nil
			return true
		})},
		{"a claim of another kind", "S4.7", editAt("owners", example+"/app.", func(o *law.Owner) bool {
			o.Claims[0].Plain, o.Claims[0].Literal = 0, o.Claims[0].Plain
			return true
		})},
		{"counts", "S5.9", editAt("counts", example+"/infra", func(n *law.Count) bool { n.Records--; return true })},
		{"a count of no namespace", "S5.9", putAt("counts", example+"/none", `{"c":0}`)},
		{"a member gone", "I1", dropFrom("members", example+"/www./infra/www")},
		{"a member that is none", "I1", copyTo("members", example+"/www./infra/other", example+"/www./infra/www")},
		{"a member of another uid", "I1", editAt("members", example+"/www./infra/www", func(m *law.Member) bool {
			m.UID = "x"
			return true
		})},
		{"a record that its status has claim a name", "S4.7", editRecord("team-b", "acme", func(r *v1alpha1.Record) {
			r.Status.Admission = string(rules.AdmittedPlain)
		}).reportAt(owner("app."))},
		{"keys of a zone that is gone", "I4", putAt("owners", "no-such-uid/www.", "{}")},
		{"a journal of a zone that is gone", "I4", putAt("journal", "no-such-uid/0000000000000001", "{}")},
		{"a cut gone", "S6.3", dropFrom("cuts", example+"/"+string(dev.UID))},
		{"DS that the parent does not have", "S6.3", editZone("team-d", "dev", func(z *v1alpha1.Zone) {
			z.Status.DNSSEC.DS[1].KeyTag++
		}).reportAt(keys.Room("cuts") + example + "/" + string(dev.UID))},
		{"DS of another name", "S12.2", editZone("team-d", "dev", func(z *v1alpha1.Zone) { z.Status.DNSSEC.FQDN = "test.example.org." })},
		{"DS that no rule gives the parent", "S6.16", editAt("names", "", func(h *law.Holding) bool {
			is := h.Name == "dev" && h.DS
			h.DS = false
			return is
		}).reportAt(keys.Zone("team-d", "dev"))},
		{"a cut that differs", "S6.3", editAt("cuts", example+"/", func(c *law.CountedCut) bool { c.Sets[0].TTL.Seconds++; return true })},
		{"a cut of no child", "S6.3", putAt("cuts", example+"/stranger", `{"sets":[]}`)},
		{"addresses of a name gone", "S16.1", dropFrom("addressed", reverse+"/"+example+"/www.")},
		{"addresses of a name that is none", "S16.1", putAt("addressed", reverse+"/"+example+"/none.", `{"o":["4"]}`)},
		{"a derived PTR gone", "S16.1", dropFrom("cuts", reverse+"/@4.")},
		{"a derived PTR left", "S16.1", copyTo("cuts", reverse+"/@200.", reverse+"/@4.")},
		{"a derived PTR that the zone lacks", "S16.2", editAt("cuts", reverse+"/@4.", func(c *law.CountedCut) bool {
			c.Sets = nil
			return true
		})},
		{"a written PTR that hides none", "S16.2", editAt("cuts", reverse+"/@8.", func(c *law.CountedCut) bool {
			c.Sets = []content.RRset{{Type: 12, TTL: content.InheritTTL(), Data: []string{c.Names[0].Name.String()}}}
			return true
		})},
		{"reverse zones of a zone gone", "S16.1", dropFrom("reverse", "infra/example")},
		{"an orphan that no name finds", "S2.3", dropFrom("orphans", "@/test.nowhere.www./r/team-a/nowhere")},
		{"a pending zone that no reference finds", "S2.3", dropFrom("orphans", "@ref/team-a/never/z/team-a/pending")},
		{"an orphan of another uid", "S2.3", putAt("orphans", "@/test.nowhere.www./r/team-a/nowhere", `{"uid":"x","t":1}`)},
		{"an expiry that no server finds", "S15.3", editRecord("infra", "www", func(r *v1alpha1.Record) {
			r.Spec.ExpiresAt = &metav1.Time{Time: time.Unix(4102444800, 0)}
		}).reportAt(keys.Room("due") + "004102444800/infra/www")},
		{"a due key of no record", "S15.3", putAt("due", "004102444800/infra/never", `{"uid":"x"}`)},
		{"a serial forgotten forwards", "S6.10", putAt("serials", holding,
			fmt.Sprintf(`{"serial":%d,"until":1}`, s.Zone("infra", "example").Status.Serial+1))},
		{"no journal", "S6.8", func(v *vandal) string {
			under := v.prefixOf("journal") + example + "/"
			for _, kv := range store.Must(st.Client.Client.Get(s.Ctx, under, withPrefix()...)).Kvs {
				v.putValue(string(kv.Key), nil)
			}
			return under
		}},
		{"a gap in the journal", "I2", func(v *vandal) string {
			before, mid := v.findMiddlePair()
			v.putValue(mid, nil)
			return before
		}},
		{"a journal that begins in the middle of itself", "I2", editStep(func(x *content.Step) {
			x.HeaderAfter, x.HeaderBefore = &content.Header{FQDN: name.MustParse("example.org.")}, nil
		})},
		{"a step of another serial", "I2", editStep(func(x *content.Step) { x.Serial++ })},
		{"a step from another serial", "I2", func(v *vandal) string {
			before, _ := v.findMiddlePair()
			v.editStep(func(x *content.Step) { x.From-- })
			return before
		}},
		{"a step to another state", "I2", editStep(func(x *content.Step) { x.State[3]++ })},
		{"a step that adds what is not there", "I2", editStep(func(x *content.Step) {
			x.Added = append(x.Added, content.Row{Owner: x.Added[0].Owner, Type: 16, Data: `"x"`})
		})},
		{"a step that removes what is there", "I2", editStep(func(x *content.Step) { x.Removed, x.Added = x.Added, nil })},
		{"a step with another ttl", "I2", editStep(func(x *content.Step) {
			x.TTLs = append(x.TTLs, content.TTLChange{Owner: x.Added[0].Owner, Type: 16, After: &content.TTL{Inherit: true}})
		})},
		// When it is undone, the step leaves the row. The finding is at the step before if that changed the row too,
		// and otherwise at this step.
		{"a step that forgets a row", "I2", editStep(func(x *content.Step) { x.Added = x.Added[1:] }).reportAt(
			keys.Room("journal") + example + "/")},
		{"a first step of another zone", "I2", editAt("journal", example+"/0000000000000001", func(tx *content.Transaction) bool {
			tx.Zone.Name = "other"
			return true
		})},
		{"a mark of the future", "I2", putAt("journal", example+"/00000000ffffffff.settled", `{"n":4294967295,"ok":true}`)},
		{"a key that is none", "I2", putAt("journal", example+"/7", "{}")},
		{"what was condensed has other rows", "S7.8", editAt("condensed", held+"/0", func(part *content.Step) bool {
			part.Removed = part.Removed[1:]
			return true
		}).reportAt(keys.Room("condensed") + held + "/")},
		{"what was condensed lacks a part", "S7.8", func(v *vandal) string {
			under := v.prefixOf("condensed") + held + "/"
			v.putValue(string(store.Must(st.Client.Client.Get(s.Ctx, under+"0", withPrefix()...)).Kvs[0].Key), nil)
			return under
		}},
		{"what was condensed is of steps that are gone", "S7.8", editAt("condensed", held+"/", func(c *journal.Condensed) bool {
			c.Step.N = 1
			return true
		})},
		{"content state", "S6.7", editZone("infra", "example", func(z *v1alpha1.Zone) { z.Status.ContentState = dev.Status.ContentState })},
		{"hash", "S6.7", editZone("infra", "example", func(z *v1alpha1.Zone) { z.Status.Hash = strings.Repeat("0", 64) })},
		{"entryCount", "S6.7", editZone("infra", "example", func(z *v1alpha1.Zone) { z.Status.EntryCount++ })},
		{"serial", "I2", func(v *vandal) string {
			v.editZone("infra", "example", func(z *v1alpha1.Zone) { z.Status.Serial += 2; z.Status.SettledSerial += 2 })
			return lastStep(v, example)
		}},
		{"contentGeneration", "I2", func(v *vandal) string {
			v.editZone("infra", "example", func(z *v1alpha1.Zone) { z.Status.ContentGeneration++ })
			return lastStep(v, example)
		}},
		{"a header that no step wrote", "I2", editZone("infra", "old", func(z *v1alpha1.Zone) {
			z.Spec.Contact = "somebody.else"
		}).reportAt(fmt.Sprintf("%s%s/%016x", keys.Room("journal"), old.UID, old.Status.ContentGeneration))},
		{"another fqdn", "S1.6", editZone("infra", "inside", func(z *v1alpha1.Zone) { z.Spec.DomainName = "other.org." })},
		{"a pending zone with content", "S3.2", editZone("team-a", "pending", func(z *v1alpha1.Zone) { z.Status.Serial = 5 })},
		{"a record of a zone that is gone", "S2.5", editRecord("infra", "www", func(r *v1alpha1.Record) {
			r.Status.ZoneRef.UID = "no-such-uid"
		})},
		{"a record that says it is not adopted", "S6.12", editRecord("infra", "www", func(r *v1alpha1.Record) {
			for i := range r.Status.Conditions {
				r.Status.Conditions[i].Status = "False"
			}
		})},
		{"a record that names its zone wrongly", "S6.12", editRecord("infra", "www", func(r *v1alpha1.Record) {
			r.Status.ZoneRef.Name = "other"
		})},
		{"a record of the future", "S6.12", editRecord("infra", "www", func(r *v1alpha1.Record) { r.Status.Serial += 1000000 })},
		{"a record at another name", "S6.12", editRecord("infra", "www", func(r *v1alpha1.Record) {
			r.Status.FQDN = "other.example.org."
		})},
		{"a record in another view", "S1.4", editRecord("infra", "www", func(r *v1alpha1.Record) { r.Status.View = "inside" })},
		{"a record outside its zone", "S2.1", editRecord("infra", "www-too", func(r *v1alpha1.Record) {
			r.Spec.DomainName = "www.elsewhere.test."
		})},
		{"a record changed behind the ledger's back", "S6.7", editRecord("infra", "www", func(r *v1alpha1.Record) {
			r.Spec.Values = []string{"192.0.2.99"}
		}).reportAt(keys.Zone("infra", "example"))},
		{"a record removed behind the ledger's back", "I1", func(v *vandal) string {
			v.putValue(keys.Record("infra", "mail"), nil)
			return v.prefixOf("members") + example + "/mail./infra/mail"
		}},
		{"an object that does not decode", "I2", func(v *vandal) string {
			v.putValue(keys.Record("infra", "mail"), []byte("garbage"))
			return keys.Record("infra", "mail")
		}},
		{"a delegation withdrawn without a cascade", "I5", editZone("infra", "example", func(z *v1alpha1.Zone) {
			z.Spec.Delegations = z.Spec.Delegations[:1]
		}).reportAt(keys.Record("team-a", "app"))},
		{"a record that says it is in no zone", "S6.7", editRecord("infra", "www", func(r *v1alpha1.Record) {
			r.Status.ZoneRef, r.Status.Serial = nil, 0
			r.Status.Conditions[0].Status = "False"
		}).reportAt(keys.Zone("infra", "example"))},
		{"a record that is withdrawn, and no period runs", "S2.5", dropFrom("withdrawn", lent+"/team-a").
			reportAt(keys.Record("team-a", "lent"))},
		{"a record that is said to be withdrawn, and is allowed", "S2.5", editRecord("infra", "www", func(r *v1alpha1.Record) {
			r.Status.EndsAt = &metav1.Time{Time: time.Unix(1<<31, 0)}
		})},
		{"a period in a zone that is gone", "I4", putAt("withdrawn", "gone/team-a", `{"since":1}`)},
		{"a record in the zone above the one that encloses it", "S2.1", editRecord("team-f", "www", func(r *v1alpha1.Record) {
			r.Spec.DomainName = "www.dev.example.org."
		})},
		{"a DS in the child", "S2.1", editRecord("team-d", "dev-ns", func(r *v1alpha1.Record) {
			r.Spec.Type, r.Spec.Values = "DS", []string{"1 13 2 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}
		})},
		{"a record in another zone than its zoneRef names", "S2.1", editRecord("infra", "www", func(r *v1alpha1.Record) {
			r.Spec.ZoneRef.Name = "old"
		})},
		{"a record in another view than it asks for", "S1.4", editRecord("team-a", "inside", func(r *v1alpha1.Record) {
			r.Spec.View = ""
		})},
		{"a record by a literal rule that there is not", "S4.17", editRecord("team-a", "app", func(r *v1alpha1.Record) {
			r.Status.Admission = string(rules.AdmittedLiteral)
		})},
		{"a shared wildcard whose base name its rule does not share", "S4.17", editZone("infra", "kinds", func(z *v1alpha1.Zone) {
			z.Spec.Delegations[1].Records[0].Shared = false
		}).reportAt(keys.Record("team-a", "kind5"))},
		{"an own record at an underscore name that claims it", "S4.17", editRecord("infra", "both", func(r *v1alpha1.Record) {
			r.Status.Admission = string(rules.AdmittedPlain)
		})},
		{"an underscore record whose rule names no underscore", "S4.17", editZone("infra", "example", func(z *v1alpha1.Zone) {
			z.Spec.Delegations[1].Records[1].Pattern = "*.*"
		}).reportAt(keys.Record("team-b", "acme"))},
		{"a wildcard whose base name no rule allows", "I5", editZone("infra", "example", func(z *v1alpha1.Zone) {
			for i := range z.Spec.Delegations[1].Records {
				z.Spec.Delegations[1].Records[i].Pattern = "*.apps"
			}
		}).reportAt(keys.Record("team-e", "wild"))},
		{"a type that a rule has to name", "I5", editZone("infra", "example", func(z *v1alpha1.Zone) {
			z.Spec.Delegations[1].Records[2].Types = nil
		}).reportAt(keys.Record("team-b", "cut"))},
		{"a type by number that a rule has to name", "I5", editZone("infra", "example", func(z *v1alpha1.Zone) {
			z.Spec.Delegations[2].Records[0].Types = nil
		}).reportAt(keys.Record("infra", "unknown"))},
		{"a Delegation gone", "I5", func(v *vandal) string {
			v.editZone("infra", "example", func(z *v1alpha1.Zone) { z.Spec.Delegations = z.Spec.Delegations[:1] })
			v.putValue(keys.Delegation("infra", "team-f"), nil)
			return keys.Record("team-f", "www")
		}},
		{"a record that is withdrawn still, and is allowed again", "S2.5", editZone("infra", "lent", func(z *v1alpha1.Zone) {
			z.Spec.Delegations = []v1alpha1.DelegationRule{store.Allow("", "*")}
		}).reportAt(keys.Record("team-a", "lent"))},
		{"a period that is over, and no work releases", "S2.5", editAt("withdrawn", lent+"/team-a", func(w *law.Withdrawal) bool {
			w.Passed = w.Grace
			return true
		}).reportAt(keys.Record("team-a", "lent"))},
		{"a child that is withdrawn, and no period runs", "S3.5", dropFrom("withdrawn", lent+"/team-d").
			reportAt(keys.Zone("team-d", "kid"))},
		{"a child that is said to have been established", "S3.4", editAt("names", "@/test.lent.kid.", func(h *law.Holding) bool {
			h.Established = true
			return true
		}).reportAt(keys.Zone("team-d", "kid"))},
		{"an established zone that is said not to be", "S3.4", editAt("names", "@/test.above.alone.", func(h *law.Holding) bool {
			h.Established = false
			return true
		}).reportAt(keys.Zone("team-d", "alone"))},
		{"a delegated zone that says it is not", "S6.12", editZone("team-d", "dev", func(z *v1alpha1.Zone) {
			for i := range z.Status.Conditions {
				if z.Status.Conditions[i].Type == v1alpha1.ConditionDelegated {
					z.Status.Conditions[i].Status = "False"
				}
			}
		})},
		{"data beside a CNAME", "S5.6", moveRecord("infra", "both", "app", "app.")},
		{"data below a DNAME", "S5.6", moveRecord("infra", "both", "x.alias", "alias.x.")},
		{"NS at a wildcard", "S5.6", moveRecord("team-b", "cut", "*.cut.example.org.", "cut.*.")},
		{"NS beside a DNAME", "S5.6", moveRecord("team-b", "cut", "alias.example.org.", "alias.")},
		{"a CNAME at the apex", "S5.6", moveRecord("team-a", "app", "example.org.", "")},
		{"CDS at the apex", "S5.6", editRecord("infra", "spf", func(r *v1alpha1.Record) {
			r.Spec.DomainName, r.Spec.Type, r.Spec.RData = "@", "CDS", ""
			r.Spec.Values = []string{"1 13 2 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}
		}).reportAt(owner(""))},
		{"two CNAME", "S5.6", editRecord("infra", "both", func(r *v1alpha1.Record) {
			r.Spec.DomainName, r.Spec.Type, r.Spec.RData, r.Spec.Values = "app", "CNAME", "", []string{"other"}
		}).reportAt(owner("app."))},
		{"a zone below a DNAME", "S5.7", editRecord("team-c", "alias", func(r *v1alpha1.Record) {
			r.Spec.DomainName = "example.org."
		}).reportAt(keys.Zone("team-d", "dev"))},
		{"the lock of no work", "I4", editAt("names", holding, func(h *law.Holding) bool {
			h.Works = []law.CascadeMark{{ID: "lost", Locks: name.MustParse("app.example.org.")}}
			return true
		})},
		{"a child that another zone encloses", "S3.5", editAt("names", "", func(h *law.Holding) bool {
			h.Enclosed = "other"
			return h.Name == "dev"
		}).reportAt(keys.Zone("team-d", "dev"))},
		{"a child withdrawn without a cascade", "S3.5", editZone("infra", "example", func(z *v1alpha1.Zone) {
			z.Spec.Delegations[1].Zones = nil
		}).reportAt(keys.Zone("team-d", "dev"))},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			v := &vandal{t: t, s: s, st: st}
			defer v.restoreAll()
			key := c.do(v)
			r := st.Fsck()
			for _, f := range r.Damage.List {
				if f.Rule == c.rule && (f.Key == key || strings.HasSuffix(key, "/") && strings.HasPrefix(f.Key, key)) {
					return
				}
			}
			t.Errorf("no finding %s at %s among:\n%s", c.rule, key, store.Text(r))
		})
	}
}

func lastStep(v *vandal, uid string) string {
	r := store.Must(v.st.Client.Client.Get(v.s.Ctx, v.prefixOf("journal")+uid+"/",
		append(withPrefix(), clientv3.WithSort(clientv3.SortByKey, clientv3.SortDescend))...))
	for _, kv := range r.Kvs {
		if !strings.Contains(string(kv.Key), ".") {
			return string(kv.Key)
		}
	}
	v.t.Fatal("no step")
	return ""
}

// fsck reports a Zone that cannot be read as a single finding. No finding tells the operator to delete intact keys.
func TestFsck_namesAZoneThatCannotBeReadAndNotWhatBelongsToIt(t *testing.T) {
	st := store.New(t, store.Unchecked)
	s := st.Server()
	stop := s.Run()
	store.Must(s.CreateZone(store.Zone("infra", "up", "org.", store.Allow("", "*"), v1alpha1.DelegationRule{Zones: []string{"*"}})))
	for _, name := range []string{"top", "other"} {
		store.Must(s.CreateZone(store.Zone("infra", name, name+".org.", store.Allow("", "*"))))
		for _, owner := range []string{"www", "mail"} {
			store.Must(s.CreateRecord(t.Context(), store.Record("team", name+owner, owner+"."+name+".org.", "A", "192.0.2.1")))
		}
	}
	st.Settle()
	stop()
	v := &vandal{t: t, s: s, st: st}
	keys := s.Ledger.Layout()
	for _, key := range []string{keys.Zone("infra", "top"), keys.Room("outbox") + "abc"} {
		v.putValue(key, []byte("{damaged"))
		r := st.Fsck()
		if r.Damage.Total != 1 || r.Damage.List[0].Key != key || r.Damage.List[0].Rule != "I2" {
			t.Errorf("%s: %s", key, store.Text(r))
		}
		if text := store.Text(r); !strings.Contains(text, "next: keep a copy of the store") || strings.Contains(text,
			"there is no such zone") {
			t.Errorf("what to do next: %s", text)
		}
		v.restoreAll()
	}
	v.editZone("infra", "other", func(z *v1alpha1.Zone) { z.Status.FQDN = "two..dots." })
	if r := st.Fsck(); r.Damage.Total != 1 || r.Damage.List[0].Key != keys.Zone("infra", "other") ||
		!strings.Contains(r.Damage.List[0].Have, "keys and records belong to it") {
		t.Errorf("a Zone that the law cannot read: %s", store.Text(r))
	}
}
