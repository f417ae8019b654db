// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Quantity is an amount of a resource as it is written: "1Gi", "500m", or a number. It is a text, and not the Quantity
// of Kubernetes, which is computed while an object is read: one with an exponent of ten digits would keep the API
// server busy for hours, before anything can refuse it.
type Quantity string

// quantityForm bounds what is computed.
var quantityForm = regexp.MustCompile(`^[+-]?([0-9]{1,18}(\.[0-9]{0,9})?|\.[0-9]{1,9})([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`)

// Parse returns the amount. Its error says what a quantity looks like.
func (q Quantity) Parse() (resource.Quantity, error) {
	if !quantityForm.MatchString(string(q)) {
		return resource.Quantity{}, fmt.Errorf(`is no quantity: write at most 18 digits with a suffix, such as "1Gi" or "500m"`)
	}
	return resource.ParseQuantity(string(q))
}

// UnmarshalJSON takes a text and a number.
func (q *Quantity) UnmarshalJSON(data []byte) error {
	var number json.Number // which takes a text too, and judges that as a number
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, (*string)(q))
	}
	if err := json.Unmarshal(data, &number); err != nil {
		return err
	}
	*q = Quantity(number)
	return nil
}

// OpenAPISchemaType is the type that the OpenAPI generator writes.
func (Quantity) OpenAPISchemaType() []string { return []string{"string"} }

// OpenAPISchemaFormat is the format that the OpenAPI generator writes.
func (Quantity) OpenAPISchemaFormat() string { return "" }

// OpenAPIV3OneOfTypes are the types that the OpenAPI generator writes for OpenAPI 3.
func (Quantity) OpenAPIV3OneOfTypes() []string { return []string{"string", "number"} }
