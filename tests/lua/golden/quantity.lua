-- One recorded decode and encode of a resource.Quantity.
local quantity, text = perigee.quantity, input["in"].text
return {
  json = quantity.canonical(text),
  value = quantity.value(text),
  milliValue = quantity.milli(text),
  isZero = quantity.is_zero(text),
  error = perigee.null,
}
