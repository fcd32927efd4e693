-- One recorded decode and encode of a resource.Quantity.
local quantity = perigee.quantity.parse(input["in"].text)
return {
  json = quantity.text,
  value = quantity.value,
  milliValue = quantity.milli_value,
  isZero = quantity.is_zero,
  error = perigee.null,
}
