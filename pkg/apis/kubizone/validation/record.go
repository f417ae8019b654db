// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/dns/mistakes"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

const MaxDescription = 1024

var specPath = field.NewPath("spec")

func Record(record *v1alpha1.Record) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&record.ObjectMeta, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	errs = append(errs, validateOnConflict(record, &v1alpha1.Record{})...)
	errs = append(errs, RecordSize(record, nil)...)
	return append(errs, validateRecordSpec(&record.Spec)...)
}

// RecordUpdate validates an update, but never refuses an unchanged spec.
func RecordUpdate(after, before *v1alpha1.Record) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&after.ObjectMeta, &before.ObjectMeta, field.NewPath("metadata"))
	errs = append(errs, validateViewUnchanged(after.Spec.View, before.Spec.View)...)
	errs = append(errs, validateOnConflict(after, before)...)
	errs = append(errs, RecordSize(after, before)...)
	return append(errs, onlyNewErrors(validateRecordSpec(&after.Spec),
		func() field.ErrorList { return validateRecordSpec(&before.Spec) })...)
}

func validateOnConflict(after, before *v1alpha1.Record) field.ErrorList {
	value, ok := after.Annotations[v1alpha1.AnnotationOnConflict]
	if was, had := before.Annotations[v1alpha1.AnnotationOnConflict]; !ok || value == v1alpha1.OnConflictWait || had && value == was {
		return nil
	}
	path := field.NewPath("metadata", "annotations").Key(v1alpha1.AnnotationOnConflict)
	return field.ErrorList{field.NotSupported(path, value, []string{v1alpha1.OnConflictWait})}
}

func RecordStatusUpdate(after, before *v1alpha1.Record) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&after.ObjectMeta, &before.ObjectMeta, field.NewPath("metadata"))
	status := field.NewPath("status")
	errs = append(errs, validateStatusSize(recordSizes(after), recordSizes(before))...)
	errs = append(errs, validateConditions(after.Status.Conditions, status.Child("conditions"))...)
	return append(errs, validateMessage(after.Status.LastDeliveryError, status.Child("lastDeliveryError"))...)
}

// validateRecordSpec validates the spec without any zone. Rules of a zone are the ledger's.
func validateRecordSpec(spec *v1alpha1.RecordSpec) field.ErrorList {
	errs := validateDomainName(spec.DomainName, spec.ZoneRef, specPath.Child("domainName"))
	errs = append(errs, validateView(spec.View)...)
	errs = append(errs, validateZoneRef(spec.ZoneRef)...)
	if spec.Class != v1alpha1.ClassIN && spec.Class != "" {
		errs = append(errs, refusal.Cite("S5.5",
			field.NotSupported(specPath.Child("class"), spec.Class, []v1alpha1.RRClass{v1alpha1.ClassIN})))
	}
	errs = append(errs, validateSeconds(spec.TTL, 0, specPath.Child("ttl"))...)
	errs = append(errs, validateExpiry(spec.ExpiresAt)...)
	if n := len([]rune(spec.Description)); n > MaxDescription {
		errs = append(errs, field.TooLong(specPath.Child("description"), "", MaxDescription))
	}

	// Without a type the data cannot be read.
	rrtype, wrong := validateType(spec.Type)
	if len(wrong) > 0 {
		return append(errs, wrong...)
	}
	errs = append(errs, validateTypeAtName(spec, rrtype, specPath.Child("domainName"))...)
	return append(errs, validateData(spec, rrtype)...)
}

// validateType returns the parsed type, or an error for a type without Records, such as SOA or RRSIG (S5.4).
func validateType(text string) (rdata.Type, field.ErrorList) {
	path := specPath.Child("type")
	if text == "" {
		return 0, field.ErrorList{field.Required(path, "an RR type such as A, CNAME, MX or TXT, or TYPE123 (RFC 3597)")}
	}
	rrtype, err := rdata.ParseType(text)
	if err != nil {
		return rrtype, rejectError(text, err, path)
	}
	if err := rrtype.CheckRecord(); err != nil {
		return rrtype, field.ErrorList{refusal.Cite("S5.4", field.Invalid(path, cut(text), err.Error()))}
	}
	return rrtype, nil
}

// validateDomainName validates an owner name: absolute, or relative to the zone of ref.
func validateDomainName(text string, ref *v1alpha1.ZoneReference, path *field.Path) field.ErrorList {
	if text == "" {
		return field.ErrorList{field.Required(path, `an absolute name ("www.example.org."), or one relative to the zone of spec.zoneRef `+
			`("www", "@")`)}
	}
	// An address as name, such as 192.0.2.1, gets a better message than its labels would.
	asAddress := mistakes.OfAddressName(text)
	if err := validateOwnerName(text); err != nil {
		return field.ErrorList{field.Invalid(path, text, cmp.Or(asAddress, err.Error()))}
	}
	if ref == nil && !name.IsAbsolute(text) {
		return field.ErrorList{refusal.Cite("S1.1", field.Invalid(path, text, cmp.Or(asAddress,
			"is relative: name its zone in spec.zoneRef, or write the whole name with a dot at its end")))}
	}
	return nil
}

func validateOwnerName(text string) error {
	_, err := name.ParseIn(text, name.Root)
	if err != nil {
		return err
	}
	return name.CheckSpelling(text)
}

func validateView(text string) field.ErrorList {
	if text == "" {
		return nil
	}
	return rejectValue(text, utilvalidation.IsDNS1123Label(text), specPath.Child("view"))
}

func validateViewUnchanged(after, before string) field.ErrorList {
	if after == before {
		return nil
	}
	return field.ErrorList{refusal.Cite("S1.4", field.Invalid(specPath.Child("view"), after,
		fmt.Sprintf("is immutable (it is %q): delete the object and create it in the other view", before)))}
}

// validateZoneRef validates a reference to a Zone, nil for none. A frequent mistake is the DNS name of the zone with
// its dot.
func validateZoneRef(ref *v1alpha1.ZoneReference) field.ErrorList {
	if ref == nil {
		return nil
	}
	var errs field.ErrorList
	path := specPath.Child("zoneRef")
	if ref.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), "the metadata.name of the Zone"))
	} else {
		for _, message := range apivalidation.NameIsDNSSubdomain(ref.Name, false) {
			errs = append(errs, field.Invalid(path.Child("name"), ref.Name, message+" (it is the metadata.name of a Zone, "+
				"not a domain name)"))
		}
	}
	if ref.Namespace != "" {
		errs = append(errs, validateNamespace(ref.Namespace, path.Child("namespace"))...)
	}
	return errs
}

func validateNamespace(text string, path *field.Path) field.ErrorList {
	return rejectValue(text, apivalidation.ValidateNamespaceName(text, false), path)
}

func validateObjectName(name, missing string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, missing)}
	}
	return rejectValue(name, apivalidation.NameIsDNSSubdomain(name, false), path)
}

// validateSeconds allows nil. The type int32 ensures the upper limit of RFC 2181 §8.
func validateSeconds(value *int32, least int32, path *field.Path) field.ErrorList {
	if value == nil || *value >= least {
		return nil
	}
	return field.ErrorList{field.Invalid(path, *value, fmt.Sprintf("must be from %d to 2147483647 seconds (RFC 2181 §8)", least))}
}

// lastExpiry is the last second that RFC 3339 can write. A later time of a protobuf client would fail every list in
// JSON.
const lastExpiry = 253402300799

func validateExpiry(at *metav1.Time) field.ErrorList {
	if at == nil || at.Unix() > 0 && at.Unix() <= lastExpiry && at.Nanosecond() == 0 {
		return nil
	}
	return field.ErrorList{refusal.Cite("S15.1", field.Invalid(specPath.Child("expiresAt"), at.Unix(), "must be a time in whole seconds, "+
		"from 1970 to 9999, such as 2030-01-31T12:00:00Z"))}
}

// validateTypeAtName makes the checks of S5.6 that need no other records.
func validateTypeAtName(spec *v1alpha1.RecordSpec, rrtype rdata.Type, path *field.Path) field.ErrorList {
	switch rrtype {
	case rdata.CNAME:
		if spec.DomainName == "@" {
			return field.ErrorList{refusal.Cite("S5.6", field.Invalid(path, spec.DomainName, "a CNAME is not allowed at a zone's own "+
				"name, beside its SOA and NS (RFC 1034 §3.6.2): use A and AAAA there, or a CNAME at a name below"))}
		}
	case rdata.DS:
		if spec.DomainName == "@" {
			return field.ErrorList{refusal.Cite("S5.6", field.Invalid(path, spec.DomainName, "a DS belongs to the parent zone, not to a "+
				"zone's own name (RFC 4035 §2.4): write it there, or with an absolute domainName and without zoneRef"))}
		}
	case rdata.NS:
		if isWildcard(spec.DomainName) {
			return field.ErrorList{refusal.Cite("S5.6",
				field.Invalid(path, spec.DomainName, "an NS is not allowed at a wildcard (RFC 4592 §4.2): "+
					"name the subdomain that is delegated"))}
		}
	}
	return nil
}

func isWildcard(text string) bool {
	if name.IsAbsolute(text) {
		n, err := name.Parse(text)
		return err == nil && n.IsWildcard()
	}
	rel, err := name.ParseRel(text)
	return err == nil && !rel.IsApex() && rel.Labels()[0] == "*"
}

// validateData validates rdata or values, of which exactly one is set, and the size of the RRset.
func validateData(spec *v1alpha1.RecordSpec, rrtype rdata.Type) field.ErrorList {
	one, many := specPath.Child("rdata"), specPath.Child("values")
	switch {
	case spec.RData == "" && len(spec.Values) == 0:
		return field.ErrorList{field.Required(one, "the data of one value in presentation format, or several of them in spec.values")}
	case spec.RData != "" && len(spec.Values) > 0:
		return field.ErrorList{field.Forbidden(one, "spec.values is set too: keep one of the two")}
	case len(spec.Values) > rdata.MaxValues:
		return field.ErrorList{field.TooMany(many, len(spec.Values), rdata.MaxValues)}
	// Two CNAMEs at a name contradict each other (S5.6).
	case rrtype.Single() && len(spec.Values) > 1:
		return field.ErrorList{refusal.Cite("S5.6", field.Invalid(many, len(spec.Values), onlyOne(rrtype)))}
	case spec.RData != "":
		_, errs := validateValue(rrtype, spec.RData, one)
		return errs
	}
	var errs field.ErrorList
	octets := 0
	for i, text := range spec.Values {
		size, bad := validateValue(rrtype, text, many.Index(i))
		octets += size
		errs = append(errs, bad...)
	}
	// All values travel in one message, at most 65,535 octets with its header.
	if octets > rdata.MaxOctets {
		errs = append(errs, refusal.Cite("S5.8",
			field.Invalid(many, octets, fmt.Sprintf("octets on the wire, the limit of an RRset is %d: "+
				"it would not fit a DNS message", rdata.MaxOctets))))
	}
	return errs
}

func onlyOne(rrtype rdata.Type) string {
	return fmt.Sprintf("a name has one %s at most: give one value", rrtype)
}

// splitValues returns the values, quoted, of a text that has several with commas or newlines between them, such as
// "192.0.2.1, 192.0.2.2", or blanks between addresses or absolute names. It returns nil for other texts, such as
// "IN NS ns1.example.org.", for long ones, and for TXT, which may have commas.
func splitValues(rrtype rdata.Type, text string) (quoted []string) {
	const maxSplit = 1000 // the refusal has the first 200 characters
	if rrtype == rdata.TXT || len(text) > maxSplit {
		return nil
	}
	parts, byBlanks := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(",\n", r) }), strings.Fields(text)
	if len(parts) == 1 && separatesByBlanks(rrtype, byBlanks) {
		parts = byBlanks
	}
	return quoteValues(rrtype, parts)
}

// separatesByBlanks reports whether the parts are values for certain: addresses, or absolute names. "a b" as data of a
// CNAME may be a mistyped name.
func separatesByBlanks(rrtype rdata.Type, parts []string) bool {
	isAddress := rrtype == rdata.A || rrtype == rdata.AAAA
	isRelative := func(part string) bool { return !name.IsAbsolute(part) }
	return isAddress || len(rrtype.Fields()) == 1 && !slices.ContainsFunc(parts, isRelative)
}

// quoteValues returns the canonical values, quoted, or nil for a single part, or if some part is no value.
func quoteValues(rrtype rdata.Type, parts []string) (quoted []string) {
	if len(parts) < 2 {
		return nil
	}
	for _, part := range parts {
		value, err := rdata.Parse(rrtype, part)
		if err != nil {
			return nil
		}
		quoted = append(quoted, strconv.Quote(value.Text))
	}
	return quoted
}

func refuseValue(rrtype rdata.Type, text string, path *field.Path, err error) *field.Error {
	switch several := splitValues(rrtype, text); {
	case several == nil:
		return field.Invalid(path, cut(text), err.Error())
	case rrtype.Single():
		return refusal.Cite("S5.6", field.Invalid(path, cut(text), onlyOne(rrtype)))
	default:
		return refusal.Cite("S5.3", field.Invalid(path, cut(text), fmt.Sprintf("has several values: write spec.values: [%s]",
			cut(strings.Join(several, ", ")))))
	}
}

// validateValue returns the octets of a value on the wire, or an error with the way out.
func validateValue(rrtype rdata.Type, text string, path *field.Path) (octets int, errs field.ErrorList) {
	value, err := rdata.Parse(rrtype, text)
	if err != nil {
		return 0, field.ErrorList{refuseValue(rrtype, text, path, err)}
	}
	wire, err := value.Pack(name.Root)
	if err != nil {
		return 0, field.ErrorList{field.Invalid(path, cut(text), err.Error())}
	}
	if err := rejectAddress(value); err != nil {
		return 0, field.ErrorList{refusal.Cite("S5.1", field.Invalid(path, cut(text), err.Error()))}
	}
	return len(wire), nil
}

// An address in place of a host would be published as a name.
func rejectAddress(value rdata.Value) error {
	address, err := netip.ParseAddr(strings.TrimSuffix(value.Host(), "."))
	if err != nil {
		return nil
	}
	use := "A"
	if address.Is6() {
		use = "AAAA"
	}
	if value.Type == rdata.CNAME {
		return fmt.Errorf("%s is an address, and CNAME names a host: use type %s", address, use)
	}
	return fmt.Errorf("%s is an address, and %s names a host: name the host, and use type %s for its address", address,
		value.Type, use)
}

func rejectValue(value string, messages []string, path *field.Path) (errs field.ErrorList) {
	for _, message := range messages {
		errs = append(errs, field.Invalid(path, cut(value), message))
	}
	return errs
}

func rejectError(value string, err error, path *field.Path) field.ErrorList {
	if err == nil {
		return nil
	}
	return field.ErrorList{field.Invalid(path, cut(value), err.Error())}
}

func validateEach[T any](list []T, most int, path *field.Path, judge func(one T, at *field.Path) field.ErrorList) (errs field.ErrorList) {
	if n := len(list); n > most {
		return field.ErrorList{field.TooMany(path, n, most)}
	}
	for i := range list {
		errs = append(errs, judge(list[i], path.Index(i))...)
	}
	return errs
}

func validateSet(list []string, most int, path *field.Path, judge func(text string, at *field.Path) field.ErrorList) field.ErrorList {
	seen := map[string]bool{}
	return validateEach(list, most, path, func(text string, at *field.Path) (errs field.ErrorList) {
		if seen[text] {
			errs = append(errs, field.Duplicate(at, cut(text)))
		}
		seen[text] = true
		return append(errs, judge(text, at)...)
	})
}

func validateNamespaces(all []string, most int, path *field.Path) field.ErrorList {
	return validateSet(all, most, path, validateNamespace)
}

func cut(text string) string {
	const most = 200
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most]) + "…"
}
