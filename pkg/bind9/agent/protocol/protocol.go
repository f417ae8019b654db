// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

// Base is the path before those of all routes.
const Base = "/api/v1"

// The types of zones.
const (
	Primary   = "primary"
	Secondary = "secondary"
)

// SOA of a new primary zone. The agent needs every number; bindcar has defaults.
type SOA struct {
	PrimaryNS   string  `json:"primaryNs"`
	AdminEmail  string  `json:"adminEmail"` // as a name, "hostmaster.example.org."
	Serial      *uint32 `json:"serial,omitempty"`
	Refresh     *uint32 `json:"refresh,omitempty"`
	Retry       *uint32 `json:"retry,omitempty"`
	Expire      *uint32 `json:"expire,omitempty"`
	NegativeTTL *uint32 `json:"negativeTtl,omitempty"`
}

// Record of a new primary zone. Name and value are as in a zone file of the zone.
type Record struct {
	Name  string  `json:"name"`
	Type  string  `json:"type"`
	Value string  `json:"value"`
	TTL   *uint32 `json:"ttl,omitempty"`
}

// ZoneConfig of a new zone. Of a secondary zone only the addresses and DNSSEC have a meaning.
type ZoneConfig struct {
	TTL           *uint32           `json:"ttl,omitempty"`
	SOA           *SOA              `json:"soa,omitempty"`
	NameServers   []string          `json:"nameServers"`
	NameServerIPs map[string]string `json:"nameServerIps"` // bindcar: required; the agent takes Records
	Records       []Record          `json:"records,omitempty"`
	// AlsoNotify and Primaries are addresses, with a port or without: "192.0.2.1", "192.0.2.1:5353",
	// "[2001:db8::1]:53". The agent takes a key behind one, "192.0.2.1 key transfer", and "list NAME": the servers of
	// a list in named's configuration.
	AlsoNotify []string `json:"alsoNotify,omitempty"`
	Primaries  []string `json:"primaries,omitempty"`
	// AllowTransfer are addresses. The agent takes prefixes, "key NAME", "any" and "none" too.
	AllowTransfer []string `json:"allowTransfer,omitempty"`
	DNSSECPolicy  string   `json:"dnssecPolicy,omitempty"`
}

// CreateZone is the body of POST /zones.
type CreateZone struct {
	ZoneName      string     `json:"zoneName"`
	ZoneType      string     `json:"zoneType"`
	ZoneConfig    ZoneConfig `json:"zoneConfig"`
	UpdateKeyName string     `json:"updateKeyName,omitempty"`
	// KeyOwner is whose zone this is: keys of DNSSEC of another owner do not sign it. Agent.
	KeyOwner string `json:"keyOwner,omitempty"`
}

// ModifyZone is the body of PATCH /zones/{name}. An empty list removes the clause; nil leaves it.
type ModifyZone struct {
	AlsoNotify    *[]string `json:"alsoNotify,omitempty"`
	AllowTransfer *[]string `json:"allowTransfer,omitempty"`
	Primaries     *[]string `json:"primaries,omitempty"` // agent: as in ZoneConfig
	DNSSECPolicy  *string   `json:"dnssecPolicy,omitempty"`
}

// ZoneResponse answers what was done to a zone. Details is named's own text.
type ZoneResponse struct {
	Success bool          `json:"success"`
	Message string        `json:"message"`
	Details string        `json:"details,omitempty"`
	DNSSEC  *DNSSECStatus `json:"dnssec,omitempty"` // of GET /zones/{name}/status
	// KeyOwner is whose the keys of DNSSEC are, of GET /zones/{name}/status. Agent.
	KeyOwner string `json:"keyOwner,omitempty"`
}

// DNSSECStatus is what named says of a zone that it signs.
type DNSSECStatus struct {
	Policy string      `json:"policy"`
	Signed bool        `json:"signed"`
	Keys   []DNSSECKey `json:"keys"`
	// UnsignedSerial is that of the zone as it was loaded or transferred. Agent.
	UnsignedSerial *uint32 `json:"unsignedSerial,omitempty"`
}

// DNSSECKey is one key. What else named says of it is in the Details of the answer.
type DNSSECKey struct {
	Tag  uint16 `json:"tag"`
	Role string `json:"role"`
	// DSState is named's word for the DS of the key: hidden, rumoured, omnipresent or unretentive.
	DSState string `json:"dsState,omitempty"`
}

// ZoneList answers GET /zones.
type ZoneList struct {
	Zones []string `json:"zones"`
	Count int      `json:"count"`
}

// DS answers GET /zones/{name}/ds.
type DS struct {
	Success bool       `json:"success"`
	Zone    string     `json:"zone"`
	Records []DSRecord `json:"dsRecords"`
}

// DSRecord is the DS of one key that signs the zone's keys.
type DSRecord struct {
	KeyTag     uint16 `json:"keyTag"`
	Algorithm  uint8  `json:"algorithm"`
	DigestType uint8  `json:"digestType"`
	Digest     string `json:"digest"`
	RR         string `json:"rr"`
	// CDS says that named asks the parent for it (RFC 7344): the key has been published for long enough. Agent.
	CDS bool `json:"cds"`
}

// CheckDS is the body of POST /zones/{name}/dnssec/checkds.
type CheckDS struct {
	KeyTag uint16 `json:"keyTag"`
	DS     string `json:"ds"` // DSPublished or DSWithdrawn
}

// The states of a DS at the parent.
const (
	DSPublished = "published"
	DSWithdrawn = "withdrawn"
)

// ServerStatus answers GET /server/status.
type ServerStatus struct {
	Status string `json:"status"`
}

// Members answers GET /server/members: the zones of all catalogs, and how many of them named does not answer for.
type Members struct {
	Zones   int `json:"zones"`
	Missing int `json:"missing"`
	// Some are the names of a few that are missing.
	Some string `json:"some,omitempty"`
}

// Health answers GET /health.
type Health struct {
	Status  string `json:"status"`
	Version string `json:"version"`
	// Agent is "kubizone" where the agent answers, and missing where bindcar does. Agent.
	Agent string `json:"agent,omitempty"`
	// ConfigHash is that of the files of the configuration that named has loaded, missing before the first time, or
	// where the agent watches none. Agent.
	ConfigHash string `json:"configHash,omitempty"`
}

// Ready answers GET /ready.
type Ready struct {
	Ready  bool     `json:"ready"`
	Checks []string `json:"checks"`
}

// Error answers a request that failed. Its message names the field, the rule and the next step.
type Error struct {
	Error   string  `json:"error"`
	Details *string `json:"details"`
}
