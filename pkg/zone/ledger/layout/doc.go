// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package layout makes and parses the keys of the store in etcd, and encodes internal values.
//
// Objects have the keys of Kubernetes' storage, such as <prefix>/kubi.zone/zones/. Internal keys are under
// <prefix>/ledger/, outside all watches of the API. The labels of names are reversed, so that a name and all names
// below form one range (name.Name.Key). A <uid> is the UID of a zone.
//
//	key                                   value                 content
//	asked                                 text                  a request for the next commit at a zone
//	addressed/<uid>/<uid>/<owner>         law.Addressed         where a name of the other zone has PTR in the first
//	archived/<uid>/                       history.Archived      the end of the zone's archive
//	archived/<uid>/<account>              {}                    an account with segments of the zone
//	archived/<uid>/@/<place>              history.OldDelegation a former Delegation
//	archived/@/<ns>/<zone>                history.Header        the last removed zone of an object's name
//	archived/@fqdn/<fqdn> <ns>/<view>     history.Header        the last removed zone of a DNS name in a namespace
//	before/<ns>/<uid>/<step>              history.Before        Records before the steps of a journal value
//	config                                JSON                  format, least reader, encryption keys
//	history/<account>/<time>/<uid>/<step> history.Segment       archived steps of an account in a zone
//	names/<view>/<fqdn>                   law.Holding           the zone of the name, with state for other zones
//	serials/<view>/<fqdn>                 law.LastSerial        the last serial of a name without a zone
//	owners/<uid>/<owner>                  law.Owner             digests of RRsets at an owner, and its claims
//	members/<uid>/<owner>/<ns>/<record>   law.Member            a Record of the zone
//	shares/<account>                      history.Share         the octets of an account's segments
//	reverse/<ns>/<zone>                   law.ReverseLinks      the zones that derive PTR from a Zone object
//	rules/<uid>/<ns>                      law.NamespaceRules    rules that Delegations give a namespace
//	counts/<uid>/<ns>                     law.Count             the number of a namespace's Records in the zone
//	cuts/<uid>/<child uid>                law.CountedCut        NS, glue and DS of a child, as counted
//	cuts/<uid>/@<owner>                   law.CountedCut        derived PTR, and the names with the address
//	debts/<uid>/<child uid>               law.Derivation        a cut that the parent has yet to count
//	debts/<uid>/<uid>/<owner>             law.Derivation        a name of the other zone whose PTR the first has to count
//	due/<seconds>/<ns>/<record>           law.Due               the time at which a Record expires
//	journal/<uid>/<step>                  content.Transaction   the steps of a zone's content
//	condensed/<uid>/                      journal.Condensed     the oldest steps of a held zone, condensed
//	orphans/<view>/<fqdn>/<letter>/<ns>/<object>,
//	orphans/@ref/<ns>/<zone>/<letter>/…   Waiter                an object that waits for a zone
//	outbox/<id>                           law.Work              pending work of a write on other objects
//	withdrawn/<uid>/<ns>                  law.Withdrawal        the grace period of a namespace in the zone
//
// Guarantees:
//
//  1. A zone's keys that decisions read (owners to cuts) change only with the Zone object, whose compare proves all of
//     them (I5).
//
// A new kind of key needs:
//
//   - a law.Kind (law/keys.go) if decisions read it, in Keys.Key, DecodeFact and, for a range, IsRange
//   - rows in Rooms, in ZoneRooms if it belongs to a zone, and in the table above
//   - a check in fsck, and a migration (docs/changing.md)
//
// Read first: history.go, keys.go, then value.go.
package layout
