// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package layout makes and parses the keys of the store in etcd, and encodes internal values.
//
// Objects have the keys of Kubernetes' storage, such as <prefix>/kubi.zone/zones/. Internal keys are under
// <prefix>/ledger/, outside every prefix that a watch of the API follows. Names are label-reversed, so that a name and
// all below are one range (name.Name.Key). A uid is a zone's.
//
//	key                                   value                 content
//	asked                                 text                  a request for the next commit at a zone
//	archived/<uid>/                       history.Archived      the end of the zone's archive
//	archived/<uid>/<account>              {}                    an account with segments of the zone
//	archived/<uid>/@/<place>              history.OldDelegation a former Delegation
//	archived/@/<ns>/<zone>                history.Header        the last removed zone of an object's name
//	archived/@fqdn/<fqdn> <ns>/<view>     history.Header        the last removed zone of a DNS name in a namespace
//	before/<ns>/<uid>/<step>              history.Before        Records before the steps of a journal value
//	config                                JSON                  format, least reader, encryption keys
//	history/<account>/<time>/<uid>/<step> history.Segment       archived steps of an account in a zone
//	names/<view>/<fqdn>                   law.Holding           the zone of the name, with state for other zones
//	serials/<view>/<fqdn>                 law.LastSerial        the last serial of a name without a zone (S6.8)
//	owners/<uid>/<owner>                  law.Owner             digests of RRsets at an owner, and its claims (S4.7)
//	members/<uid>/<owner>/<ns>/<record>   law.Member            a Record of the zone
//	shares/<account>                      history.Share         the octets of an account's segments
//	rules/<uid>/<ns>                      law.NamespaceRules    rules that Delegations give a namespace (S4.3)
//	counts/<uid>/<ns>                     law.Count             the number of a namespace's Records in the zone
//	cuts/<uid>/<child uid>                law.CountedCut        NS, glue and DS of a child, as counted (S6.1)
//	debts/<uid>/<child uid>               law.PendingCut        a cut that the parent has yet to count
//	journal/<uid>/<step>                  content.Transaction   the steps of a zone's content
//	condensed/<uid>/                      journal.Condensed     the oldest steps of a held zone, condensed
//	orphans/<view>/<fqdn>/<letter>/<ns>/<object>,
//	orphans/@ref/<ns>/<zone>/<letter>/…   Waiter                an object that waits for a zone
//	outbox/<id>                           law.Work              pending work of a write on other objects (I4)
//	withdrawn/<uid>/<ns>                  law.Withdrawal        the grace period of a namespace in the zone (S2.5)
//
// Stored names that differ from Go's:
//
//	asked     YieldRequest
//	debts     PendingCut
//	orphans   Waiting, Waiter
//
// Guarantees:
//
//  1. A key of a zone that decisions read (owners to cuts) changes only with the Zone object, whose compare proves all
//     of them (I5).
//  2. Each Parse function inverts the function of its key.
//
// A new kind of key needs:
//
//   - a law.Kind (law/keys.go) if decisions read it, in Keys.Key, DecodeFact and, for a range, IsRange
//   - rows in Rooms, ZoneRooms (among the first OwnRooms unless Delivery needs it), the table above and package
//     ledger's
//   - fsck, which recomputes it (TestRun_isCleanOnEveryKindOfStore)
//   - a migration for stores without it (ledger/migrate.go)
//
// Read first: history.go, keys.go, then value.go.
package layout
