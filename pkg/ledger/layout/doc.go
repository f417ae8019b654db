// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package layout says where everything stands in etcd and how the ledger's own values are encoded.
//
// Objects stand where Kubernetes' storage expects them, under <prefix>/kubi.zone/zones/,
// <prefix>/bind9.kubi.zone/bind9clusters/ and so on. The ledger's
// own keys stand under <prefix>/ledger/, outside every prefix that a watch of the API follows. Names in keys are
// label-reversed, so that a name and all names below it are one range (name.Name.Key). A uid is a zone's.
//
//	key                                   value                 says
//	asked                                 text                  which server asks for the next commit at which zone
//	config                                JSON                  format, least reader, keys of the encryption
//	names/<view>/<fqdn>                   law.Holding           which zone has the name, and what other zones' writes need of it
//	serials/<view>/<fqdn>                 law.LastSerial        the last serial of a name whose zone is gone (S6.8)
//	owners/<uid>/<owner>                  law.Owner             the RRsets at an owner, as digests, and the claims of it (S4.7)
//	members/<uid>/<owner>/<ns>/<record>   law.Member            a record of the zone, for cascades; no decision reads it
//	rules/<uid>/<ns>                      law.NamespaceRules    the rules that Delegations give a namespace (S4.3)
//	counts/<uid>/<ns>                     law.Count             how many Records a namespace has in the zone
//	cuts/<uid>/<child uid>                law.CountedCut        what a parent counts of a child (S6.1)
//	debts/<uid>/<child uid>               law.PendingCut        a cut that the parent has to count yet
//	journal/<uid>/<step>                  content.Transaction   what changed, by steps
//	condensed/<uid>/                      journal.Condensed     the oldest steps of a held zone, as one
//	orphans/<view>/<fqdn>/<letter>/<ns>/<object>,
//	orphans/@ref/<ns>/<zone>/<letter>/…   Waiter                an object that no zone has adopted
//	outbox/<id>                           law.Work              what a write owes to other objects (I4)
//
// Promises. (1) A key of a zone that a decision looks at (owners to cuts) changes only in a transaction that
// changes the Zone object: one compare of it proves them all (I5). debts/ are compared by themselves, as names/ and
// outbox/ are. (2) No value is lost by parsing: what a Parse function reads from a key, the function of that key
// writes.
//
// It knows nothing of transactions, clients or time: it is arithmetic on strings.
//
// A new kind of key needs: a law.Kind (law/keys.go) where a decision asks for it; Keys.Key, DecodeFact and, where it
// is a range, IsRange; Rooms; ZoneRooms, among the first OwnRooms of them unless Delivery needs it; the tables above
// and in package ledger; fsck, which recomputes it (TestRun_isCleanOnEveryKindOfStore fails while no store of that test
// has one); and a migration, for stores that have none (ledger/migrate.go).
//
// Read first: keys.go, then value.go.
package layout
