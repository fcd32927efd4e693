-- SPDX-License-Identifier: Apache-2.0
--- Deploy new models in business hours only. A job that has a new model ready waits before the
--- stage Deploy begins, until somebody is there to look: on the `days` (1 Monday to 7 Sunday) from
--- the hour `from` to the hour `to`, UTC plus `utc_offset`. The annotation `example.com/deploy-now:
--- "true"` on the job goes ahead at once. Everything else is as shipped.
local M = {
  api = "il_stage/v1",
  options = { days = { 1, 2, 3, 4, 5 }, from = 9, to = 16, utc_offset = 0 },
}

local labels, shipped = perigee.labels, perigee.shipped.il_stage

--- Weekday (1 Monday) and hours since midnight of an RFC 3339 time, moved by some hours.
local function local_time(now, offset)
  local numbers = {}
  for digits in now:gmatch("%d+") do
    numbers[#numbers + 1] = math.tointeger(digits)
  end
  local y, m, day, hour, minute = table.unpack(numbers, 1, 5)
  if m <= 2 then
    y, m = y - 1, m + 12
  end
  local leap = y // 4 - y // 100 + y // 400
  local days = 365 * y + leap + (153 * (m - 3) + 2) // 5 + day
  local hours = days * 24 + hour + minute / 60 + offset
  return (hours // 24 + 1) % 7 // 1 + 1, hours % 24
end

local function is_open(now)
  local weekday, hour = local_time(now, options.utc_offset)
  for _, day in ipairs(options.days) do
    if day == weekday then
      return hour >= options.from and hour < options.to
    end
  end
  return false
end

function M.transit(input)
  local condition = input.condition
  local begins = condition.stage == "Deploy" and condition.type == "Ready"
  local hurried = labels.is_true(labels.annotation(input.job, "example.com/deploy-now"))
  if begins and not hurried and not is_open(input.now) then
    return { after = 600, note = "the new model waits for business hours" }
  end
  return shipped.transit(input)
end

return M
