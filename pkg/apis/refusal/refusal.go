// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package refusal

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Refusal is a reason why the API refused a request, read from the causes of an API error.
type Refusal struct {
	// Item and Prerequisite are indexes in a ChangeSet, or -1.
	Item, Prerequisite int
	// Field is the path in the request's object, or in the Record of an Item, such as "spec.ttl". "" means the whole
	// object.
	Field string
	// Rule is the number of a rule in docs/semantics.md, such as "S4.8", or "".
	Rule    string
	Reason  metav1.CauseType
	Message string
}

func (r Refusal) String() string {
	if r.Field == "" {
		return r.Message
	}
	return r.Field + ": " + r.Message
}

// Of returns the refusals in an API error, or nil for any other error. An error without causes is a single refusal.
func Of(err error) []Refusal {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return nil
	}
	return OfStatus(answer.Status())
}

// OfStatus returns a refusal for each cause in a status. A status without causes is a refusal itself.
func OfStatus(status metav1.Status) (refusals []Refusal) {
	var causes []metav1.StatusCause
	var paths []string
	if status.Details != nil {
		causes = status.Details.Causes
	}

	for _, cause := range causes {
		if rule, ok := strings.CutPrefix(string(cause.Type), rulePrefix); ok {
			// The cause of a rule repeats the field and message of an earlier cause.
			for i := range refusals {
				if paths[i] == cause.Field && refusals[i].Message == cause.Message {
					refusals[i].Rule = rule
				}
			}
			continue
		}

		refusal := Refusal{Prerequisite: -1, Reason: cause.Type, Message: cause.Message}
		refusal.Item, refusal.Field = cutIndex(cause.Field, items)
		if refusal.Item >= 0 {
			_, refusal.Field, _ = strings.Cut(refusal.Field, ".") // after the member with the Record
		} else {
			refusal.Prerequisite, refusal.Field = cutIndex(cause.Field, prerequisites)
		}
		refusals, paths = append(refusals, refusal), append(paths, cause.Field)
	}

	if len(refusals) == 0 {
		refusals = []Refusal{{Item: -1, Prerequisite: -1, Reason: metav1.CauseType(status.Reason),
			Message: strings.TrimSpace(status.Message)}}
	}
	return refusals
}

func Has(err error, reason metav1.StatusReason) bool {
	return apierrors.ReasonForError(err) == reason || slices.ContainsFunc(Of(err), func(one Refusal) bool {
		return one.Reason == metav1.CauseType(reason)
	})
}

func Messages(all []Refusal) string {
	texts := make([]string, len(all))
	for i, one := range all {
		texts[i] = one.Message
	}
	return strings.Join(texts, "; ")
}

const rulePrefix = "kubi.zone/"

// AddRule adds the rule to a status, as a further cause for each cause.
func AddRule(status *metav1.Status, rule string) {
	if rule == "" {
		return
	}
	if status.Details == nil {
		status.Details = &metav1.StatusDetails{}
	}
	// A refusal as a whole, such as 403, has no causes: its sentence becomes the cause.
	if len(status.Details.Causes) == 0 {
		status.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseType(status.Reason), Message: status.Message}}
	}
	for _, cause := range slices.Clone(status.Details.Causes) {
		status.Details.Causes = append(status.Details.Causes, metav1.StatusCause{Type: metav1.CauseType(rulePrefix + rule),
			Field: cause.Field, Message: cause.Message})
	}
}

func ByRule(rule string, answer *apierrors.StatusError) *apierrors.StatusError {
	AddRule(&answer.ErrStatus, rule)
	return answer
}

// Cite adds a rule, such as "S5.6", to the error's text and origin.
func Cite(rule string, err *field.Error) *field.Error {
	err.Detail += " (" + rule + ")"
	return err.WithOrigin(rulePrefix + rule)
}

func NewInvalid(kind schema.GroupKind, name string, errs field.ErrorList) *apierrors.StatusError {
	answer := apierrors.NewInvalid(kind, name, errs)
	AddCited(&answer.ErrStatus, errs)
	return answer
}

// AddCited adds the rules that errs cite to the answer's causes.
func AddCited(status *metav1.Status, errs field.ErrorList) {
	if status.Details == nil {
		return
	}
	type sentence struct{ field, message string }
	rules := map[sentence]string{}
	for _, err := range errs {
		if strings.HasPrefix(err.Origin, rulePrefix) {
			rules[sentence{err.Field, err.ErrorBody()}] = err.Origin
		}
	}
	for _, cause := range slices.Clone(status.Details.Causes) {
		// Field and sentence identify the error, because a status has no room for its origin.
		if rule := rules[sentence{cause.Field, cause.Message}]; rule != "" {
			status.Details.Causes = append(status.Details.Causes, metav1.StatusCause{Type: metav1.CauseType(rule), Field: cause.Field,
				Message: cause.Message})
		}
	}
}

const items, prerequisites = "items", "prerequisites"

func ItemPath(index int) *field.Path { return field.NewPath("spec", items).Index(index) }

func cutIndex(path, list string) (index int, field string) {
	rest, ok := strings.CutPrefix(path, "spec."+list+"[")
	number, field, closed := strings.Cut(rest, "]")
	index, err := strconv.Atoi(number)
	if !ok || !closed || err != nil || index < 0 {
		return -1, path
	}
	return index, strings.TrimPrefix(field, ".")
}

// A Warning is a line with an item of a ChangeSet and a rule, both optional, and a sentence.
//
//	spec.items[3] (www-a): S5.14: spec.ttl: 5s is short

func Warning(rule, text string) string {
	if rule == "" {
		return text
	}
	return rule + ruleEnd + text
}

func OfItem(index int, name, warning string) string {
	return fmt.Sprintf("%s (%s): %s", ItemPath(index), name, warning)
}

// WithItems adds other items with the same text to the Warning of an item.
//
//	spec.items[3] (www-a, and items 4 7): S5.14: spec.ttl: 5s is short
func WithItems(warning string, others ...int) string {
	items, _, rest := cutItems(warning)
	if len(items) == 0 || len(others) == 0 {
		return warning
	}
	return strings.TrimSuffix(strings.TrimSuffix(warning, rest), itemEnd) + andItems + formatItems(others) + itemEnd + rest
}

// NameItem names the Record of a change set's Warning by "record www-a:" in place of the item's path, and counts others
// as in "record www-a and 2 more:". Other Warnings stay as they are.
func NameItem(warning string) string {
	items, name, rest := cutItems(warning)
	if len(items) == 0 {
		return warning
	}
	if others := len(items) - 1; others > 0 {
		name += fmt.Sprintf(" and %d more", others)
	}
	return "record " + name + ": " + rest
}

// CutWarning reverses Warning, OfItem and WithItems. It returns nil without an item, and "" without a rule.
func CutWarning(warning string) (items []int, rule, text string) {
	items, _, text = cutItems(warning)
	if rule, rest, ok := strings.Cut(text, ruleEnd); ok && isRule(rule) {
		return items, rule, rest
	}
	return items, "", text
}

// More is the last Warning of a response that leaves out n others, and the items of a ChangeSet that these are of, as
// in "and 12 more, of items 3 5".
func More(n int, items ...int) string {
	text := fmt.Sprintf("and %d more", n)
	if len(items) > 0 {
		text += ofItems + formatItems(items)
	}
	return text
}

const ofItems, andItems, itemEnd = ", of items ", ", and items ", "): "

func formatItems(items []int) string { return strings.Trim(fmt.Sprint(items), "[]") }

func parseItems(list string) (items []int) {
	for number := range strings.FieldsSeq(list) {
		if item, err := strconv.Atoi(number); err == nil {
			items = append(items, item)
		}
	}
	return items
}

// CutMore reverses More. It returns 0 for another Warning.
func CutMore(warning string) (n int, items []int) {
	if _, err := fmt.Sscanf(warning, "and %d more", &n); err != nil || n < 0 {
		return 0, nil
	}
	_, list, _ := strings.Cut(warning, ofItems)
	return n, parseItems(list)
}

const ruleEnd = ": "

func isRule(text string) bool {
	rest, ok := strings.CutPrefix(text, "S")
	section, sentence, dot := strings.Cut(rest, ".")
	return ok && dot && isNumber(section) && isNumber(sentence)
}

func isNumber(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && strconv.FormatUint(n, 10) == text
}

// cutItems returns the items of a Warning, the name of the first, and the rest; nil and all of the Warning without one.
func cutItems(warning string) (of []int, name, rest string) {
	path, rest, ok := strings.Cut(warning, " (")
	name, rest, named := strings.Cut(rest, itemEnd)
	index, _ := cutIndex(path, items)
	if !ok || !named || index < 0 || path != ItemPath(index).String() {
		return nil, "", warning
	}
	name, others, _ := strings.Cut(name, andItems)
	return append([]int{index}, parseItems(others)...), name, rest
}
