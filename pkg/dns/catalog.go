// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package dns

// UnconfirmedTTL is the TTL of a member's PTR in the catalog of a fleet until all servers have had the zone once. The
// agent beside a server does not hold its readiness back for such a zone. Consumers of catalogs ignore TTLs (RFC 9432
// §4), and BIND logs a warning for each record that it does not know.
const UnconfirmedTTL = 1
