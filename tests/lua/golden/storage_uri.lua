-- One recorded call of ValidateStorageURI. The default storage container is that of runtime-catalog/storagecontainers.
local case = input["in"]
local default = {
  metadata = { name = "default" },
  spec = {
    workloadType = "initContainer",
    supportedUriFormats = {
      { prefix = "gs://" },
      { prefix = "s3://" },
      { prefix = "hdfs://" },
      { prefix = "hf://" },
      { prefix = "webhdfs://" },
      { regex = "https://(.+?).blob.core.windows.net/(.+)" },
      { regex = "https://(.+?).file.core.windows.net/(.+)" },
      { regex = "https?://(.+)/(.+)" },
    },
  },
}
local containers = {}
if case.storageContainers ~= perigee.null then
  for _, container in ipairs(case.storageContainers) do
    containers[#containers + 1] = container
  end
end
if case.useDefaultStorageContainers then
  containers[#containers + 1] = default
end
table.sort(containers, function(a, b)
  return a.metadata.name < b.metadata.name
end)
local _, refusal = perigee.storage.validate_uri(case.uri, perigee.array(containers))
return { error = refusal or perigee.null }
